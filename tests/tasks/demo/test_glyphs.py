"""Glyphs come cropped, in their colour and light, and boats without water."""

from dataclasses import replace

import numpy as np
import pytest

from tasks.demo.glyphs import glyph
from tasks.demo.things import THINGS


@pytest.mark.parametrize("name", THINGS)
def test_every_thing_has_a_glyph_of_its_own_cropped_to_what_is_drawn(name: str) -> None:
    image = glyph(THINGS[name], "", "day")
    missing = glyph(replace(THINGS[name], glyph="\U000f0000", afloat=False), "", "day")
    assert image.getchannel("A").getbbox() == (0, 0, *image.size)
    assert image.tobytes() != missing.tobytes()


@pytest.mark.parametrize("name", [name for name, thing in THINGS.items() if thing.colours])
def test_a_coloured_thing_looks_different_in_each_colour_and_keeps_its_shape(name: str) -> None:
    thing = THINGS[name]
    images = [glyph(thing, colour, "day") for colour in thing.colours]
    assert len({image.tobytes() for image in images}) == len(thing.colours)
    assert len({image.getchannel("A").tobytes() for image in images}) == 1


def test_light_dims_colours_not_shapes() -> None:
    day, dusk, night = (np.asarray(glyph(THINGS["dog"], "", time)) for time in ("day", "dusk", "night"))
    assert (day[..., :3] >= dusk[..., :3]).all()
    assert day[..., :3].mean() > dusk[..., :3].mean() > night[..., :3].mean()
    assert (day[..., 3] == night[..., 3]).all()


def test_a_boat_leaves_its_water_behind() -> None:
    boat = THINGS["sailboat"]
    wet, dry = (np.asarray(glyph(replace(boat, afloat=afloat), "", "day")) for afloat in (False, True))
    water = (146, 211, 245)
    assert (wet[..., :3] == water).all(axis=-1).any()
    assert not ((dry[..., :3] == water).all(axis=-1) & (dry[..., 3] > 0)).any()
