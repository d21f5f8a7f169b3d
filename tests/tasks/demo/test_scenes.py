"""Scenes hold what their place offers, and come out the same each time."""

from collections import Counter
from itertools import islice

import pytest

from tasks.demo.places import PLACES
from tasks.demo.scenes import Scene, make_scenes
from tasks.demo.things import THINGS


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    return list(make_scenes(2000))


def test_same_seed_gives_the_same_scenes_and_another_seed_others() -> None:
    assert list(make_scenes(40, seed=3)) == list(make_scenes(40, seed=3))
    assert list(make_scenes(40, seed=3)) != list(make_scenes(40, seed=4))


def test_scenes_stream_so_a_longer_collection_begins_like_a_shorter_one() -> None:
    assert list(islice(make_scenes(10**9), 5)) == list(make_scenes(5))


def test_ids_count_from_zero(scenes: list[Scene]) -> None:
    assert [scene.scene_id for scene in scenes] == [f"scene-{number:04d}" for number in range(2000)]


def test_a_scene_has_two_to_five_different_things_the_main_one_first(scenes: list[Scene]) -> None:
    for scene in scenes:
        things = [one.thing for one in scene.seen]
        assert 2 <= len(things) == len(set(things)) <= 5
        assert [one.role for one in scene.seen].count("main") == 1
        assert scene.seen[0].role == "main"


def test_things_are_those_of_the_place_in_a_number_and_a_colour_that_they_come_in(
    scenes: list[Scene],
) -> None:
    for scene in scenes:
        place = PLACES[scene.place]
        assert scene.time in place.times
        assert scene.weather in place.weathers
        for one in scene.seen:
            assert one.thing in place.things[one.role]
            assert 1 <= one.count <= THINGS[one.thing].herd
            assert one.colour in (THINGS[one.thing].colours or ("",))


def test_every_place_and_every_thing_occurs(scenes: list[Scene]) -> None:
    assert {scene.place for scene in scenes} == set(PLACES)
    assert {one.thing for scene in scenes for one in (*scene.seen, *scene.signs)} == set(THINGS)


def test_sizes_are_landscape_portrait_and_square(scenes: list[Scene]) -> None:
    sizes = Counter(scene.size for scene in scenes)
    assert {(width > height) - (width < height) for width, height in sizes} == {-1, 0, 1}


def test_things_are_shared_across_places_so_a_place_alone_does_not_tell_them() -> None:
    homes = Counter(thing for place in PLACES.values() for thing in {t for ts in place.things.values() for t in ts})
    assert sum(count > 1 for count in homes.values()) > len(homes) / 2


def test_the_sky_shows_the_weather_and_the_time(scenes: list[Scene]) -> None:
    for scene in scenes:
        signs = [sign.thing for sign in scene.signs]
        if scene.weather == "clear":
            assert signs == (["moon"] if scene.time == "night" else ["sun"])
        else:
            assert signs == ([] if scene.weather == "indoors" else ["cloud"])


def test_what_is_the_main_thing_somewhere_has_something_to_do() -> None:
    assert all(THINGS[thing].doings for place in PLACES.values() for thing in place.things["main"])
