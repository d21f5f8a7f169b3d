"""Pictures made by the tests, as bytes."""

import io
from typing import Any

import numpy as np
from PIL import Image


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
