"""Draws a scene: the sky, the land, and its things where the layout places them."""

from collections.abc import Sequence
from random import Random

from PIL import Image, ImageDraw, ImageOps

from tasks.demo.background import paint_land, paint_sky
from tasks.demo.glyphs import glyph
from tasks.demo.layout import Placed, lay_out
from tasks.demo.places import Time, Weather
from tasks.demo.scenes import Scene
from tasks.demo.things import FREE_HANDS, THINGS


def draw_scene(scene: Scene) -> Image.Image:
    """Return the scene as an RGB image of its size; equal scenes give equal pixels."""
    chance = Random(f"paint {scene}")
    placed = lay_out(scene)
    image = paint_sky(scene, chance)
    for one in placed:
        if one.seen.role == "sky":
            _paint_thing(image, one, scene.time)
    land = paint_land(scene, chance)
    image.paste(land, (0, 0), land)
    for one in placed:
        if one.seen.role != "sky":
            _paint_thing(image, one, scene.time)
    _paint_string(image, placed)
    _paint_weather(image, scene.weather, chance)
    return image


def _paint_thing(image: Image.Image, placed: Placed, time: Time) -> None:
    """Paint the glyph, with a shadow if it stands in front."""
    box = placed.box
    picture = glyph(THINGS[placed.seen.thing], placed.seen.colour, time)
    picture = picture.resize((box.width, box.height), Image.Resampling.LANCZOS)
    picture = ImageOps.mirror(picture) if placed.mirrored else picture
    if placed.seen.role in ("main", "beside"):
        shadow = (box.left, box.bottom - 7, box.left + box.width, box.bottom + 5)
        ImageDraw.Draw(image, "RGBA").ellipse(shadow, (0, 0, 0, 50))
    image.paste(picture, (box.left, box.top), picture)


def _paint_string(image: Image.Image, placed: Sequence[Placed]) -> None:
    """Paint the string from a kite to the hand of a person who can hold it."""
    kites = [one.box for one in placed if one.seen.thing == "kite"]
    holders = [one.box for one in placed if one.seen.role == "main" and one.seen.thing in FREE_HANDS]
    for kite, holder in zip(kites, holders, strict=False):
        hand = (holder.left + 0.6 * holder.width, holder.top + 0.5 * holder.height)
        ImageDraw.Draw(image).line(((kite.left + kite.width / 2, kite.bottom - 4), hand), "black")


def _paint_weather(image: Image.Image, weather: Weather, chance: Random) -> None:
    pen = ImageDraw.Draw(image, "RGBA")
    for _ in range(70 if weather in ("rain", "snow") else 0):
        x, y, radius = chance.uniform(0, image.width), chance.uniform(0, image.height), chance.uniform(1.2, 3)
        if weather == "rain":
            pen.line((x, y, x - 4, y + 13), (225, 238, 255, 190))
        else:
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), (255, 255, 255, 230))
