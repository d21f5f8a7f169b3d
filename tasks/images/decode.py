"""Bytes to an upright RGB picture: the one decoder for training, indexing and queries alike."""

import io
import warnings

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from tasks.errors import InputError

MAX_PIXELS = 178_956_970
BACKGROUND = (255, 255, 255)  # what shows through transparent pixels

# MAX_PIXELS is refused by name below, so Pillow's own earlier warning says nothing new.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


class UnreadableImage(InputError):
    """These bytes are no picture that can be decoded; the message says why."""


def decode(data: bytes) -> Image.Image:
    """The first frame, EXIF orientation applied, as 8-bit RGB over a white background.

    The bytes decide the type. Decoding is forced, so that a truncated file is found. Raises UnreadableImage.
    """
    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.width * image.height > MAX_PIXELS:
                raise UnreadableImage(f"{image.width} x {image.height} pixels are over the limit of {MAX_PIXELS}")
            image.load()
            return _to_rgb(_upright(image))
    except UnreadableImage:
        raise
    except UnidentifiedImageError:
        raise UnreadableImage("empty file" if not data else "not an image of a known type") from None
    except Exception as error:  # Pillow's plugins raise nearly anything on damaged bytes
        raise UnreadableImage(" ".join(str(error).split()) or type(error).__name__) from None


def _upright(image: Image.Image) -> Image.Image:
    """The picture as its EXIF orientation wants it shown; damaged EXIF counts as none."""
    try:
        return ImageOps.exif_transpose(image)
    except Exception:
        return image


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode == "F" or image.mode.startswith("I"):
        return _scaled_to_8_bit(image).convert("RGB")
    if image.has_transparency_data:
        rgba = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", rgba.size, (*BACKGROUND, 255)), rgba).convert("RGB")
    return image.convert("RGB")


def _scaled_to_8_bit(image: Image.Image) -> Image.Image:
    """High-depth grey scaled, not clipped: integers from their 16-bit range, others from what the picture spans."""
    values = np.nan_to_num(np.asarray(image, dtype=np.float64), posinf=0, neginf=0)
    low, high = float(values.min()), float(values.max())
    if image.mode != "F" and low >= 0 and high <= 65535:
        low, high = 0.0, 65535.0
    span = high - low or 1.0
    return Image.fromarray(((values - low) / span * 255).round().astype(np.uint8))
