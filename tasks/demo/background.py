"""Paints the background of a scene: the sky of its time and weather, and the layers of its place."""

import math
from collections.abc import Callable
from random import Random

from PIL import Image, ImageColor, ImageDraw, ImageOps

from tasks.demo.places import PLACES
from tasks.demo.scenes import Scene

Colour = tuple[int, ...]
Painter = Callable[[Image.Image, int, Colour, Random], None]

_SKIES = {
    "day": (("#5fb0ee", "#d6efff"), ("#3f9be0", "#c4e6fb"), ("#86c5e8", "#f3f4e4")),
    "dusk": (("#5b4b8a", "#f7a072"), ("#e9825a", "#ffdf9e"), ("#8e5aa8", "#f9bfa5")),
    "night": (("#0b1437", "#33457f"), ("#16163a", "#40407a"), ("#06223b", "#28577a")),
    "overcast": (("#8794a3", "#ccd4da"), ("#9aa3ab", "#dcdcd6"), ("#76859a", "#b7c3cf")),
}
_LIGHTS = {"day": "#ffffff", "dusk": "#f0c4ac", "night": "#6f7bb4"}


def paint_sky(scene: Scene, chance: Random) -> Image.Image:
    """Return the sky of the scene's time and weather: RGB, in the scene's size."""
    overcast = scene.time == "day" and scene.weather != "clear"
    upper, lower = chance.choice(_SKIES["overcast" if overcast else scene.time])
    image = _gradient(scene.size, ImageColor.getrgb(upper), ImageColor.getrgb(lower))
    for _ in range(40 if scene.time == "night" and scene.weather == "clear" else 0):
        x, y = chance.randrange(image.width), chance.randrange(image.height // 2)
        ImageDraw.Draw(image).point((x, y), "#fff6c8")
    return image


def paint_land(scene: Scene, chance: Random) -> Image.Image:
    """Return the layers of the scene's place: RGBA, in the scene's size, painted at twice that for smooth edges."""
    canvas = Image.new("RGBA", (2 * scene.size[0], 2 * scene.size[1]))
    for layer in PLACES[scene.place].layers:
        colour = _lit(chance.choice(layer.colours), _LIGHTS[scene.time])
        _PAINTERS[layer.painter](canvas, int(layer.top * canvas.height), colour, chance)
    return canvas.reduce(2)


def _gradient(size: tuple[int, int], upper: Colour, lower: Colour) -> Image.Image:
    column = Image.linear_gradient("L").resize((1, size[1]))
    return ImageOps.colorize(column, upper, lower).resize(size)


def _lit(colour: str, light: str) -> Colour:
    return tuple(a * b // 255 for a, b in zip(ImageColor.getrgb(colour), ImageColor.getrgb(light), strict=True))


def _scaled(colour: Colour, factor: float) -> Colour:
    return tuple(min(255, int(factor * part)) for part in colour)


def _flat(canvas: Image.Image, top: int, colour: Colour, chance: Random) -> None:
    size = (canvas.width, canvas.height - top)
    canvas.paste(_gradient(size, _scaled(colour, chance.uniform(1.0, 1.1)), _scaled(colour, 0.88)), (0, top))


def _sea(canvas: Image.Image, top: int, colour: Colour, chance: Random) -> None:
    _flat(canvas, top, colour, chance)
    pen = ImageDraw.Draw(canvas)
    for _ in range(24):
        x, y = chance.randrange(canvas.width), chance.randint(top + 8, canvas.height)
        length = 16 + 40 * (y - top) // canvas.height
        for start in (x, x + length):
            pen.arc((start, y, start + length, y + length // 3), 0, 180, _scaled(colour, 1.25), 4)


def _hills(canvas: Image.Image, top: int, colour: Colour, chance: Random) -> None:
    """Paint a wavy edge with blades, pebbles or flakes below it."""
    pen = ImageDraw.Draw(canvas)
    waves, phase, swing = chance.uniform(0.4, 1.6), chance.uniform(0, math.tau), chance.uniform(0.01, 0.05)
    edge = [
        (x, top + canvas.height * swing * math.sin(phase + waves * math.tau * x / canvas.width))
        for x in range(0, canvas.width + 8, 8)
    ]
    pen.polygon([*edge, (canvas.width, canvas.height), (0, canvas.height)], colour)
    for _ in range(50):
        x, y = chance.randrange(canvas.width), chance.randint(top + canvas.height // 12, canvas.height + 10)
        pen.line((x, y, x + chance.randint(-6, 6), y - 10), _scaled(colour, 0.88), 4)


def _peaks(canvas: Image.Image, top: int, colour: Colour, chance: Random) -> None:
    """Paint a range of mountains with a light and a dark side and white caps."""
    pen = ImageDraw.Draw(canvas)
    for number in range(5):
        x = canvas.width * (number + chance.uniform(0.1, 0.9)) / 5
        y = top + chance.uniform(-0.08, 0.12) * canvas.height
        foot = canvas.height * 0.75
        half = (foot - y) * chance.uniform(0.6, 0.9)
        pen.polygon([(x, y), (x + half, foot), (x - half, foot)], colour)
        pen.polygon([(x, y), (x + half, foot), (x + half / 4, foot)], _scaled(colour, 0.85))
        cap = 0.22
        low = y + (foot - y) * cap
        pen.polygon([(x, y), (x + half * cap, low), (x, low - 12), (x - half * cap, low)], _scaled(colour, 1.5))


def _road(canvas: Image.Image, top: int, colour: Colour, chance: Random) -> None:
    _flat(canvas, top, colour, chance)
    pen = ImageDraw.Draw(canvas)
    pen.rectangle((0, top, canvas.width, top + 8), _scaled(colour, 1.4))
    middle = (top + canvas.height) // 2 + 20
    for x in range(chance.randint(-60, 0), canvas.width, 100):
        pen.rectangle((x, middle, x + 56, middle + 8), _scaled(colour, 1.7))


def _skyline(canvas: Image.Image, top: int, colour: Colour, chance: Random) -> None:
    """Paint houses side by side with rows of windows, some of them lit."""
    pen = ImageDraw.Draw(canvas)
    left = -20
    while left < canvas.width:
        width, high = chance.randint(70, 130), top + chance.randint(0, canvas.height // 4)
        wall = _scaled(colour, chance.uniform(0.75, 1.1))
        pen.rectangle((left, high, left + width, canvas.height), wall)
        for x in range(left + 10, left + width - 14, 24):
            for y in range(high + 12, canvas.height, 32):
                lit = chance.random() < 0.4
                pen.rectangle((x, y, x + 12, y + 16), "#ffe9a0" if lit else _scaled(wall, 0.75))
        left += width


def _pitch(canvas: Image.Image, top: int, colour: Colour, chance: Random) -> None:
    _flat(canvas, top, colour, chance)
    pen = ImageDraw.Draw(canvas)
    stripe = chance.randint(40, 70)
    for x in range(0, canvas.width, 2 * stripe):
        pen.rectangle((x, top, x + stripe, canvas.height), _scaled(colour, 1.12))
    pen.line((0, top + 24, canvas.width, top + 24), "white", 5)
    middle = canvas.width // 2
    pen.ellipse((middle - 130, top + 60, middle + 130, top + 150), outline="white", width=5)


def _wall(canvas: Image.Image, top: int, colour: Colour, chance: Random) -> None:
    """Paint wallpaper, with or without stripes."""
    _flat(canvas, top, colour, chance)
    pen, step = ImageDraw.Draw(canvas), chance.choice((32, 48, canvas.width))
    for x in range(step, canvas.width, 2 * step):
        pen.rectangle((x, top, x + step // 2, canvas.height), _scaled(colour, 0.94))


_PAINTERS: dict[str, Painter] = {
    "flat": _flat,
    "sea": _sea,
    "hills": _hills,
    "peaks": _peaks,
    "road": _road,
    "skyline": _skyline,
    "pitch": _pitch,
    "wall": _wall,
}
