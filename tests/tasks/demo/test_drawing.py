"""Scenes are drawn in their size, the same each time, and show what they hold."""

from dataclasses import replace

import numpy as np
import pytest

from tasks.demo import drawing
from tasks.demo.drawing import draw_scene
from tasks.demo.places import PLACES
from tasks.demo.scenes import LANDSCAPE, Scene, Seen, make_scenes

SCENE = Scene(
    "scene-0000",
    "beach",
    "day",
    "clear",
    LANDSCAPE,
    (Seen("dog", "main", 1, "red"), Seen("palm", "beside", 1, "")),
)


def _pixels(scene: Scene) -> np.ndarray:
    return np.asarray(draw_scene(scene)).astype(int)


def test_images_are_rgb_of_the_scenes_size_and_repeatable() -> None:
    for scene in make_scenes(12):
        image = draw_scene(scene)
        assert (image.mode, image.size) == ("RGB", scene.size)
        assert image.tobytes() == draw_scene(scene).tobytes()


def test_every_place_can_be_drawn_at_each_of_its_times_in_each_of_its_weathers() -> None:
    for name, place in PLACES.items():
        images = {
            draw_scene(replace(SCENE, place=name, time=time, weather=weather)).tobytes()
            for time in place.times
            for weather in place.weathers
        }
        assert len(images) == len(set(place.times)) * len(set(place.weathers))


def test_night_is_darker_than_day() -> None:
    assert _pixels(replace(SCENE, time="night")).mean() < 0.7 * _pixels(SCENE).mean()


def test_a_thing_is_drawn_in_its_colour() -> None:
    red, green, blue = np.moveaxis(_pixels(SCENE), -1, 0)
    assert ((red > 180) & (green < 110) & (blue < 110)).sum() > 500


def test_a_kite_hangs_on_a_string_of_whoever_can_hold_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kite = Seen("kite", "above", 1, "red")
    by_boy, by_crab = (replace(SCENE, seen=(Seen(main, "main", 1, ""), kite)) for main in ("boy", "crab"))
    boys, crabs = _pixels(by_boy), _pixels(by_crab)
    monkeypatch.setattr(drawing, "FREE_HANDS", frozenset())
    assert (boys != _pixels(by_boy)).any()
    assert (crabs == _pixels(by_crab)).all()
