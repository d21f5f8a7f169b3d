"""Pictures made by the tests, as bytes."""

import io
from typing import Any

import numpy as np
from PIL import Image, ImageEnhance, ImageFilter


def encode(image: Image.Image, format: str = "png", **options: Any) -> bytes:
    """The picture as a file of that format."""
    stream = io.BytesIO()
    image.save(stream, format, **options)
    return stream.getvalue()


def noise(width: int = 12, height: int = 9, seed: int = 0) -> Image.Image:
    """An RGB picture without any symmetry."""
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def flat(colour: str | tuple[int, ...], width: int = 12, height: int = 9, mode: str = "RGB") -> Image.Image:
    """A picture of one colour."""
    return Image.new(mode, (width, height), colour)


def photograph(width: int = 320, height: int = 240, seed: int = 0) -> Image.Image:
    """Coloured shapes of all sizes, as natural pictures have them."""
    layers = [noise(2**power, 2**power, seed + power).resize((width, height)) for power in range(1, 6)]
    picture = layers[0]
    for layer in layers[1:]:
        picture = Image.blend(picture, layer, 0.4)
    return picture.filter(ImageFilter.GaussianBlur(1))


def variants(picture: Image.Image) -> list[bytes]:
    """The picture as a file, recompressed, at half its size, and trimmed and brightened."""
    half = picture.resize((picture.width // 2, picture.height // 2))
    trimmed = ImageEnhance.Brightness(picture.crop((2, 2, picture.width - 2, picture.height - 2))).enhance(1.05)
    return [encode(picture), encode(picture, "jpeg", quality=40), encode(half), encode(trimmed)]
