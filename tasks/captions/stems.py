"""Captions to stems (METHOD.md 2)."""

import html
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    from nltk.stem.snowball import SnowballStemmer

_WORD = regex.compile(r"[\p{L}\p{N}][\p{L}\p{M}\p{N}]*")  # many scripts write vowels as marks
_UNSPACED = regex.compile(
    r"([\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30fc]\p{M}*)+"
)  # scripts without spaces between words, in which pairs of characters take the place of words
_CHARACTER = regex.compile(r"\P{M}\p{M}*")


def tokenise(text: str) -> list[str]:
    """Return the words of a text (HTML unescaped, NFKC, casefolded): runs of letters, combining marks and digits.

    Scripts without spaces between words, such as Chinese, Japanese and Thai, give each pair of adjacent characters.
    """
    runs: list[str] = _WORD.findall(unicodedata.normalize("NFKC", html.unescape(text)).casefold())
    return [word for run in runs for word in (_split(run) if _UNSPACED.search(run) else (run,))]


def _split(run: str) -> Iterator[str]:
    """Yield the pairs of characters of a run, or the only one, and the words of other scripts within it."""
    start = 0
    for match in _UNSPACED.finditer(run):
        if match.start() > start:
            yield run[start : match.start()]
        characters = _CHARACTER.findall(match[0])
        yield from map("".join, pairwise(characters)) if len(characters) > 1 else characters
        start = match.end()
    if start < len(run):
        yield run[start:]


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
