import json
import re
import time

import numpy as np
import pytest

from tasks.captions.vocabulary import build_vocabulary
from tasks.errors import InputError
from tasks.model.text_model import TextModel
from tasks.search.words import (
    MAX_LENGTH,
    MAX_TERMS,
    SUGGESTED,
    WEIGHT,
    Words,
    embed_phrase,
    read_term,
    read_words,
)
from tests.shared import case, with_shared

CAPTIONS = [["a kite on grass"], ["a kite in snow"], ["a ball on grass"], ["the ball of a boat"], ["snow 16 9"]]


@pytest.fixture
def text() -> TextModel:
    return text_model(CAPTIONS)


def text_model(captions: list[list[str]]) -> TextModel:
    vocabulary = build_vocabulary(captions, "english")
    text_VD = np.random.default_rng(0).normal(size=(len(vocabulary.stems), 6)).astype(np.float32)
    return TextModel(vocabulary, text_VD)


def words(text: TextModel, add: list[str], remove: list[str] | None = None) -> Words:
    return read_words(text, add, remove or [], 1.0, 0.5)


@pytest.mark.parametrize(
    ("given", "term", "weight"),
    [
        ("snow", "snow", 1),
        ("snow:2", "snow", 2),
        (" red kite : .5 ", " red kite", 0.5),
        ("16:9", "16", 9),
        ("16:9:1", "16:9", 1),
        ("snow:", "snow:", 1),
        (":2", ":2", 1),
        ("a: b", "a: b", 1),
        ("snow:1e3", "snow:1e3", 1),
        ("snow:100", "snow", 100),
    ],
)
def test_a_number_behind_the_last_colon_is_a_weight(text: TextModel, given: str, term: str, weight: float) -> None:
    read = read_term(given, text)
    assert (read.given, read.text, read.weight) == (given, term, weight)


def test_a_term_without_weight_moves_nothing(text: TextModel) -> None:
    read = words(text, ["snow:0", "kite"])
    assert (read.added, read.passed_over) == (("kite",), {"snow:0": "ignored: its weight is 0"})


@pytest.mark.parametrize("given", ["snow:-1", "snow:101", f"snow:{'9' * 190}"])
def test_a_weight_that_moves_backwards_or_too_far_is_refused(text: TextModel, given: str) -> None:
    with pytest.raises(InputError, match="must be between 0 and 100"):
        words(text, [given])


@pytest.mark.parametrize(("alpha", "beta"), [(-1, 0), (float("inf"), 0), (1, float("nan"))])
def test_what_would_end_numbers_is_refused(text: TextModel, alpha: float, beta: float) -> None:
    with pytest.raises(InputError, match="must be between 0 and 1,000,000,000, not "):
        read_words(text, ["snow"], ["kite"], alpha, beta)


def test_words_move_by_the_formula(text: TextModel) -> None:
    start_D = np.eye(6, dtype=np.float32)[0]
    kite_D, snow_D = embed_phrase(text, "kite"), embed_phrase(text, "snow")
    assert kite_D is not None
    assert snow_D is not None
    moved_D = words(text, ["kites:2"], ["snow"]).steer(start_D)
    expected_D = start_D + 2 * kite_D - 0.5 * snow_D
    np.testing.assert_allclose(moved_D, expected_D / np.linalg.norm(expected_D), rtol=1e-5)


def test_words_that_say_nothing_are_left_out_of_a_phrase(text: TextModel) -> None:
    np.testing.assert_array_equal(embed_phrase(text, "the ball of the boat"), embed_phrase(text, "ball boat"))


def test_what_moves_nothing_is_told_and_why(text: TextModel) -> None:
    read = words(text, ["kite", "the of", "zepelin snov", "", "🐶"], ["  "])
    assert (read.added, read.removed) == (("kite",), ())
    assert read.passed_over == {
        "the of": "too common to affect results",
        "zepelin snov": "not in any caption",
        "": "ignored: it has no letters or digits",
        "🐶": "ignored: it has no letters or digits",
        "  ": "ignored: it has no letters or digits",
    }
    assert read.unknown_terms == ("zepelin", "snov")
    assert read.suggestions == {"zepelin": (), "snov": ("snow",)}
    assert read.notes == [
        "No training caption contains 'zepelin'; it is ignored.",
        "No training caption contains 'snov'; it is ignored. Did you mean snow?",
        "'the of' is too common to affect results.",
        "'' is ignored: it has no letters or digits.",
        "'🐶' is ignored: it has no letters or digits.",
        "'  ' is ignored: it has no letters or digits.",
    ]
    nothing = words(text, ["the of", "zepelin"])
    start_D = np.eye(6, dtype=np.float32)[1]
    np.testing.assert_array_equal(nothing.steer(start_D), start_D)


def test_plus_and_minus_of_a_word_cancel_whatever_their_weights_and_inflections(text: TextModel) -> None:
    read = words(text, ["KITES:2", "snow"], ["the kite"])
    assert (read.added, read.removed) == (("snow",), ())
    assert read.passed_over == dict.fromkeys(["KITES:2", "the kite"], "both added and removed")
    asked = read_words(text, [], ["kites", "snow"], 1, 0.5, "a kite")
    assert (asked.removed, asked.passed_over) == (("snow",), {"kites": "both searched for and removed"})
    assert "'kites' is both searched for and removed." in asked.notes


def test_suggestions_are_joined_and_poor_guesses_dropped() -> None:
    text = text_model([["a boat", "the boats", "a goat"], ["a yellow coat"], ["nothing"]])
    assert words(text, ["baot xylo"]).notes == [
        "No training caption contains 'baot'; it is ignored. Did you mean boat?",
        "No training caption contains 'xylo'; it is ignored.",
    ]
    (note,) = words(text, ["oat"]).notes
    assert re.fullmatch(r"No training caption contains 'oat'; it is ignored\. Did you mean \w+, \w+ or \w+\?", note)


def test_near_words_are_looked_up_for_the_first_unknown_ones_alone(text: TextModel) -> None:
    read = words(text, [f"word{number}" for number in range(2 * SUGGESTED)])
    assert len(read.unknown_terms) == 2 * SUGGESTED
    assert list(read.suggestions) == [f"word{number}" for number in range(SUGGESTED)]


@pytest.mark.parametrize("unit", ["1", " ", "a:", ":", "1.", " :"])
def test_long_terms_are_read_or_refused_at_once(text: TextModel, unit: str) -> None:
    """A backtracking pattern took more than six seconds for 20,000 characters."""
    started = time.perf_counter()
    words(text, [(unit * MAX_LENGTH)[:MAX_LENGTH].replace("1", "0")])
    with pytest.raises(InputError, match=r"A term may have at most 10,000 characters; '.+'… has 20,000\."):
        words(text, [unit * (20_000 // len(unit))])
    assert time.perf_counter() - started < 0.5


@pytest.mark.parametrize("unit", ["0", " ", "0.", "+"])
def test_reading_a_weight_takes_linear_time(unit: str) -> None:
    started = time.perf_counter()
    assert WEIGHT.fullmatch(unit * 1_000_000 + "x") is None
    assert time.perf_counter() - started < 0.5


def test_too_many_terms_and_too_long_texts_are_refused(text: TextModel) -> None:
    words(text, ["snow"] * MAX_TERMS)
    with pytest.raises(InputError, match=f"at most {MAX_TERMS} added and removed terms, not {MAX_TERMS + 1}"):
        words(text, ["snow"] * MAX_TERMS, ["kite"])
    with pytest.raises(InputError, match="A text query may have at most"):
        read_words(text, [], [], 1.0, 0.5, query="a " * MAX_LENGTH)


@with_shared
def test_terms_of_the_case_do_what_they_should() -> None:
    """F28: words that say nothing, or are unknown, move nothing and are told; nothing is ever not finite."""
    rows = (case("F28") / "metadata.jsonl").read_text().splitlines()
    text = text_model([[json.loads(row)["text"]] for row in rows])
    queries = json.loads((case("F28") / "queries.json").read_text())
    start_D = np.eye(6, dtype=np.float32)[2]
    read = {
        name: words(
            text, [term[1:] for term in terms if term[0] == "+"], [term[1:] for term in terms if term[0] == "-"]
        )
        for name, (_, terms) in queries.items()
    }
    moved = {name: one.steer(start_D) for name, one in read.items()}
    for name in ("u1", "u2", "u3", "u4", "u5", "m1", "x3"):
        np.testing.assert_array_equal(moved[name], start_D)
        assert read[name].passed_over
    for name in ("i1", "l1", "mix"):
        np.testing.assert_allclose(moved[name], moved["i2"], atol=1e-6)
    np.testing.assert_allclose(moved["x1"], moved["x2"], atol=1e-6)
    assert read["mix"].unknown_terms == ("zeppelin",)
    for name in ("i2", "p1", "m2", "x1"):
        assert not np.array_equal(moved[name], start_D)
    assert all(np.linalg.norm(one) == pytest.approx(1, abs=1e-5) for one in moved.values())
