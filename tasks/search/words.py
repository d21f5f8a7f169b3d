"""Words that steer a search: terms as people write them, against what the model of an index knows (METHOD.md 8)."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tasks.captions.informative import informative_words
from tasks.captions.stems import count_stems, tokenise
from tasks.errors import InputError
from tasks.model.text_model import TextModel
from tasks.search.modifiers import steer

WEIGHTED = re.compile(r"(.*\S)\s*:\s*([+-]?(?:\d+\.?\d*|\.\d+))\s*", re.DOTALL)
MOST, FARTHEST = 100.0, 1e9  # of a term's weight, and of α and β: beyond, numbers would end
UNHEARD = "no caption had its words"
SUGGESTED = 10  # unknown words for which known ones are looked up, which takes time


@dataclass(frozen=True)
class Words:
    """How words move queries, which terms do, and what is to be told about the rest.

    `unknown_terms` are words that no caption had, `suggestions` known ones spelled like them; `passed_over` says of a
    term why it moves nothing.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unknown_terms: tuple[str, ...] = ()
    suggestions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    passed_over: Mapping[str, str] = field(default_factory=dict)
    moves: tuple[tuple[float, np.ndarray], ...] = ()

    @property
    def facts(self) -> dict[str, Any]:
        """What words did, as JSON says it."""
        return {
            "added": list(self.added),
            "removed": list(self.removed),
            "unknown_terms": list(self.unknown_terms),
            "suggestions": {word: list(near) for word, near in self.suggestions.items()},
            "passed_over": dict(self.passed_over),
        }

    @property
    def notes(self) -> list[str]:
        """Sentences for people on what moves nothing."""
        near = {word: f" Spelled like it: {', '.join(known)}." for word, known in self.suggestions.items() if known}
        unknown = [f"No caption had {word!r}; it is passed over.{near.get(word, '')}" for word in self.unknown_terms]
        others = [f"{term!r} moves nothing: {why}." for term, why in self.passed_over.items() if why != UNHEARD]
        return unknown + others

    def move(self, start_D: np.ndarray) -> np.ndarray:
        """query_D: the start itself where nothing moves it."""
        return steer(start_D, self.moves) if self.moves else start_D


@dataclass(frozen=True)
class Term:
    """A word or several, as given, without its weight, and the stems of those that tell images apart."""

    given: str
    text: str
    weight: float
    stems: Counter[str]


def read_term(given: str, text: TextModel) -> Term:
    """`snow:2` is the word snow, twice as far; a term that ends so itself takes its own weight: `16:9:1`.

    Raises InputError for a weight outside 0…100.
    """
    parts = WEIGHTED.fullmatch(given)
    plain, weight = (parts[1], float(parts[2])) if parts else (given, 1.0)
    if not 0 <= weight <= MOST:
        raise InputError(f"The weight of {given!r} has to be a number from 0 to {MOST:.0f}.")
    telling = Counter(informative_words(plain, text.vocabulary))
    return Term(given, plain, weight, count_stems(telling, text.vocabulary.language))


def read_words(
    text: TextModel, add: Sequence[str], remove: Sequence[str], alpha: float, beta: float, query: str = ""
) -> Words:
    """What a query is moved by, towards `add` by α and away from `remove` by β, and what to tell, of `query` too.

    A term without any word that tells images apart moves nothing; one that is both added and removed cancels. Raises
    InputError.
    """
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0 <= value <= FARTHEST:
            raise InputError(f"{name} has to be a number from 0 to {FARTHEST:.0e}, not {value}.")
    adding, removing = ([read_term(given, text) for given in terms] for terms in (add, remove))
    passed = {term.given: reason for term in (*adding, *removing) if (reason := _silent(term, text))}
    for term in (*adding, *removing):
        if any(term.stems == other.stems for other in adding) and any(term.stems == other.stems for other in removing):
            passed.setdefault(term.given, "it is both added and removed")
    kept_adding, kept_removing = ([term for term in terms if term.given not in passed] for terms in (adding, removing))
    moves = [(alpha * term.weight, embed_phrase(text, term.text)) for term in kept_adding]
    moves += [(-beta * term.weight, embed_phrase(text, term.text, wanted=False)) for term in kept_removing]
    unknown = unknown_words(text, (query, *(term.text for term in (*adding, *removing))))
    return Words(
        added=tuple(term.given for term in kept_adding),
        removed=tuple(term.given for term in kept_removing),
        unknown_terms=unknown,
        suggestions={word: tuple(text.suggest(word)) for word in unknown[:SUGGESTED]},
        passed_over=passed,
        moves=tuple((weight, theta_D) for weight, theta_D in moves if theta_D is not None),
    )


def embed_phrase(text: TextModel, phrase: str, *, wanted: bool = True) -> np.ndarray | None:
    """θ_D of a phrase's words that tell images apart, unit length; None where there is none."""
    return text.embed(" ".join(informative_words(phrase, text.vocabulary)), wanted=wanted)


def unknown_words(text: TextModel, phrases: Iterable[str]) -> tuple[str, ...]:
    """The words of phrases that no caption had, each once."""
    return tuple(dict.fromkeys(word for phrase in phrases for word in text.unknown(phrase)))


def _silent(term: Term, text: TextModel) -> str | None:
    """Why a term moves nothing, None where it does."""
    if not term.weight:
        return "its weight is 0"
    if embed_phrase(text, term.text) is not None:
        return None
    words, unknown = tokenise(term.text), text.unknown(term.text)
    if not words:
        return "it has no word"
    return UNHEARD if len(unknown) == len(words) else "its words tell no images apart"
