"""Captions are true to their scene and differently worded."""

import re
from collections import Counter

import pytest

from tasks.demo.places import PLACES
from tasks.demo.scenes import LANDSCAPE, Scene, Seen, make_scenes
from tasks.demo.things import THINGS
from tasks.demo.wording import word_captions


@pytest.fixture(scope="module")
def worded() -> list[tuple[Scene, tuple[str, ...]]]:
    return [(scene, word_captions(scene)) for scene in make_scenes(600)]


def _names(caption: str, thing: str) -> bool:
    """Whether a caption has the beginning of the last word of one of a thing's nouns, or of its plural."""
    heads = [noun.split()[-1][:3] for noun in THINGS[thing].nouns]
    return any(
        re.search(rf"\b{head}", caption.lower())
        for head in heads + ["men", "people"] * ("man" in heads or "per" in heads)
    )


def test_five_different_captions_the_same_each_time(worded: list[tuple[Scene, tuple[str, ...]]]) -> None:
    for scene, captions in worded:
        assert len(set(captions)) == 5
        assert captions == word_captions(scene)


def test_captions_are_tidy_sentences(worded: list[tuple[Scene, tuple[str, ...]]]) -> None:
    for _, captions in worded:
        for caption in captions:
            assert re.fullmatch(r"[A-Z][a-z,'-]*( [a-z][a-z,'-]*)+\.", caption), caption
            assert not re.search(r"\ba [aeiou]|\ban [^aeiou]|, *,|\b(\w+) \1\b", caption), caption


def test_every_caption_names_the_main_thing_and_the_last_one_everything(
    worded: list[tuple[Scene, tuple[str, ...]]],
) -> None:
    for scene, captions in worded:
        assert all(_names(caption, scene.seen[0].thing) for caption in captions), captions
        assert all(_names(captions[-1], one.thing) for one in scene.seen), captions


def test_captions_vary_across_scenes(worded: list[tuple[Scene, tuple[str, ...]]]) -> None:
    counts = Counter(caption for _, captions in worded for caption in captions)
    assert len(counts) > 0.9 * 5 * len(worded)


def test_relations_numbers_and_colours_are_those_of_the_scene() -> None:
    seen = (Seen("dog", "main", 2, "brown"), Seen("house", "behind", 1, "red"), Seen("plane", "above", 1, ""))
    captions = " ".join(
        caption.lower()
        for number in range(60)
        for caption in word_captions(Scene(f"scene-{number}", "park", "night", "clear", LANDSCAPE, seen))
    )
    for phrase in (
        "two brown dogs are",
        "red house",
        "house behind two",
        "plane above",
        "at night",
        "in a park",
    ):
        assert phrase in captions
    for phrase in (
        "a dog",
        "dog is",
        "next to",
        "behind the",
        "behind a plane",
        "above a house",
        "sunny",
        "black",
        "houses",
    ):
        assert phrase not in captions


def test_a_person_with_free_hands_does_something_with_a_thing_and_others_do_not() -> None:
    kite = Seen("kite", "above", 1, "red")

    def told(main: str) -> str:
        seen = (Seen(main, "main", 1, ""), kite)
        scenes = [Scene(f"scene-{n}", "beach", "day", "clear", LANDSCAPE, seen) for n in range(30)]
        return " ".join(caption for scene in scenes for caption in word_captions(scene))

    assert re.search(r"flying a (red )?(kite|toy)", told("boy"))
    assert "flying" not in told("surfer")


def test_each_place_is_told_by_its_phrases(worded: list[tuple[Scene, tuple[str, ...]]]) -> None:
    for scene, captions in worded:
        place = PLACES[scene.place]
        text = " ".join(captions).lower()
        assert any(phrase in text for phrase in (*place.wheres, *place.nouns)), captions
