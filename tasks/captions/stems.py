"""Captions to stems (METHOD.md 2)."""

import html
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    from nltk.stem.snowball import SnowballStemmer

_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}]*")  # many scripts write vowels as marks


def tokenise(text: str) -> list[str]:
    """Return the words of a text (HTML unescaped, NFKC, casefolded): runs of letters, combining marks and digits."""
    words: list[str] = _WORD.findall(unicodedata.normalize("NFKC", html.unescape(text)).casefold())
    return words


@cache
def stem(word: str, language: str) -> str:
    """Return the word's Snowball stem, or the word itself if its stem would be empty."""
    return _stemmer(language).stem(word) or word


@cache
def languages() -> tuple[str, ...]:
    """Return the languages that have a stemmer."""
    from nltk.stem.snowball import SnowballStemmer  # noqa: PLC0415  importing takes two seconds, which searching avoids

    return tuple(name for name in SnowballStemmer.languages if name != "porter")


@cache
def _stemmer(language: str) -> "SnowballStemmer":
    from nltk.stem.snowball import SnowballStemmer  # noqa: PLC0415

    return SnowballStemmer(language)


def count_words(captions: Iterable[str]) -> Counter[str]:
    """Return all captions of an image as one bag of words."""
    return Counter(word for caption in captions for word in tokenise(caption))


def count_stems(words: Counter[str], language: str) -> Counter[str]:
    """Convert a bag of words into a bag of stems."""
    stems: Counter[str] = Counter()
    for word, count in words.items():
        stems[stem(word, language)] += count
    return stems
