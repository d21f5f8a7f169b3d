"""Words added to or removed from a query: terms as people write them, read by a model's vocabulary (METHOD.md 8)."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tasks.captions.informative import informative_words
from tasks.captions.stems import count_stems, tokenise
from tasks.errors import InputError, InvalidOption
from tasks.model.text_model import TextModel
from tasks.phrases import either
from tasks.search.modifiers import steer

WEIGHT = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)")
MAX_LENGTH = 10_000  # characters of a term or a text query
MAX_TERMS = 64
MAX_WEIGHT, MAX_STRENGTH = 100.0, 1e9  # of a term, and of α and β; larger values overflow
UNKNOWN = "not in any caption"
TOO_COMMON = "too common to affect results"
SUGGESTED = 10  # unknown words that get suggestions, which are slow to find


@dataclass(frozen=True)
class Words:
    """The terms that steer a query, and those that have no effect.

    `unknown_terms` are words that no caption has, `suggestions` similarly spelled known words, and `passed_over` the
    reason why a term has no effect.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unknown_terms: tuple[str, ...] = ()
    suggestions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    passed_over: Mapping[str, str] = field(default_factory=dict)
    directions: tuple[tuple[float, np.ndarray], ...] = ()

    @property
    def facts(self) -> dict[str, Any]:
        """The terms as JSON."""
        return {
            "added": list(self.added),
            "removed": list(self.removed),
            "unknown_terms": list(self.unknown_terms),
            "suggestions": {word: list(near) for word, near in self.suggestions.items()},
            "passed_over": dict(self.passed_over),
        }

    @property
    def notes(self) -> list[str]:
        """Sentences for people on the terms that have no effect."""
        guesses = {word: f" Did you mean {either(near)}?" for word, near in self.suggestions.items() if near}
        unknown = [
            f"No training caption contains {word!r}; it is ignored.{guesses.get(word, '')}"
            for word in self.unknown_terms
        ]
        others = [f"{term!r} is {why}." for term, why in self.passed_over.items() if why != UNKNOWN]
        return unknown + others

    def steer(self, start_D: np.ndarray) -> np.ndarray:
        """Return query_D, the start itself if no term has an effect."""
        return steer(start_D, self.directions) if self.directions else start_D


@dataclass(frozen=True)
class Term:
    """One or more words: as given, without the weight, and the stems of the informative ones."""

    given: str
    text: str
    weight: float
    stems: Counter[str]


def read_term(given: str, text: TextModel) -> Term:
    """Parse a term: `snow:2` is the word snow with weight 2; to end in a number itself, it needs a weight: `16:9:1`.

    Raises InputError for a weight outside 0…100 or more than MAX_LENGTH characters.
    """
    _check_length("A term", given)
    head, _, tail = (part.strip() for part in given.rpartition(":"))
    weighted = bool(head) and WEIGHT.fullmatch(tail) is not None
    plain, weight = (given.rpartition(":")[0].rstrip(), float(tail)) if weighted else (given, 1.0)
    if not 0 <= weight <= MAX_WEIGHT:
        raise InvalidOption(f"The weight of {given!r} must be between 0 and {MAX_WEIGHT:.0f}.")
    informative = Counter(informative_words(plain, text.vocabulary))
    return Term(given, plain, weight, count_stems(informative, text.vocabulary.language))


def read_words(
    text: TextModel, add: Sequence[str], remove: Sequence[str], alpha: float, beta: float, query: str = ""
) -> Words:
    """Read the terms that steer a query, towards `add` by α and away from `remove` by β.

    A term without informative words has no effect; a term both added, or searched for by
    `query`, and removed cancels. Unknown words of the text
    `query` are reported too. Raises InputError for too many or too long terms and for numbers out of range.
    """
    if len(add) + len(remove) > MAX_TERMS:
        raise InvalidOption(
            f"A search takes at most {MAX_TERMS} added and removed terms, not {len(add) + len(remove)}."
        )
    _check_length("A text query", query)
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0 <= value <= MAX_STRENGTH:
            raise InvalidOption(f"{name} must be between 0 and {MAX_STRENGTH:,.0f}, not {value}.")
    adding, removing = ([read_term(given, text) for given in terms] for terms in (add, remove))
    passed = {term.given: reason for term in (*adding, *removing) if (reason := _why_ignored(term, text))}
    for term in (*adding, *removing):
        if any(term.stems == other.stems for other in adding) and any(term.stems == other.stems for other in removing):
            passed.setdefault(term.given, "both added and removed")
    asked = count_stems(Counter(informative_words(query, text.vocabulary)), text.vocabulary.language)
    for term in removing:
        if asked and term.stems == asked:
            passed.setdefault(term.given, "both searched for and removed")
    kept_adding, kept_removing = ([term for term in terms if term.given not in passed] for terms in (adding, removing))
    directions = [(alpha * term.weight, embed_phrase(text, term.text)) for term in kept_adding]
    directions += [(-beta * term.weight, embed_phrase(text, term.text, wanted=False)) for term in kept_removing]
    unknown = unknown_words(text, (query, *(term.text for term in (*adding, *removing))))
    return Words(
        added=tuple(term.given for term in kept_adding),
        removed=tuple(term.given for term in kept_removing),
        unknown_terms=unknown,
        suggestions={word: tuple(text.suggest(word)) for word in unknown[:SUGGESTED]},
        passed_over=passed,
        directions=tuple((weight, theta_D) for weight, theta_D in directions if theta_D is not None),
    )


def embed_phrase(text: TextModel, phrase: str, *, wanted: bool = True) -> np.ndarray | None:
    """Return θ_D of a phrase's informative words, unit length; None if it has none."""
    return text.embed(" ".join(informative_words(phrase, text.vocabulary)), wanted=wanted)


def unknown_words(text: TextModel, phrases: Iterable[str]) -> tuple[str, ...]:
    """Return the words of phrases that no caption has, each once."""
    return tuple(dict.fromkeys(word for phrase in phrases for word in text.unknown(phrase)))


def _why_ignored(term: Term, text: TextModel) -> str | None:
    """Return the reason why a term has no effect, completing "'term' is …"; None if it has one."""
    if not term.weight:
        return "ignored: its weight is 0"
    if embed_phrase(text, term.text) is not None:
        return None
    words, unknown = tokenise(term.text), text.unknown(term.text)
    if not words:
        return "ignored: it has no letters or digits"
    return UNKNOWN if len(unknown) == len(words) else TOO_COMMON


def _check_length(what: str, text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise InputError(f"{what} may have at most {MAX_LENGTH:,} characters; {text[:20]!r}… has {len(text):,}.")
