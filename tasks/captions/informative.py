"""Informative words: those that distinguish images, unlike function words and words that most images have."""

from tasks.captions.stems import stem, tokenise
from tasks.captions.vocabulary import Vocabulary

_ENGLISH = (
    "a an the this that these those some any each and or but nor so if than then as of in on at by to for from with "
    "into onto it its they them their we us our you your i me my who whom whose which what where when while there "
    "here is are was were be been being am has have had having do does did doing will would could not no"
)
FUNCTION_WORDS = {"english": frozenset(_ENGLISH.split())}
"""By language. Frequency alone does not find them: 45% of Flickr8k's images have "of", 31% "man"."""


def informative_words(phrase: str, vocabulary: Vocabulary) -> list[str]:
    """Return the informative words of a phrase, in order (METHOD.md 8).

    These are in the vocabulary, are no function words, and occur with at most half of the images, so that each carries
    at least one bit.
    """
    return [word for word in tokenise(phrase) if _is_informative(word, vocabulary)]


def _is_informative(word: str, vocabulary: Vocabulary) -> bool:
    column = vocabulary.index.get(stem(word, vocabulary.language))
    if column is None or word in FUNCTION_WORDS.get(vocabulary.language, ()):
        return False
    return bool(2 * vocabulary.document_frequency_V[column] <= vocabulary.documents)
