"""Decodes bytes into an upright RGB image; the only decoder, used for training, indexing and queries alike."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np
from PIL import ExifTags, Image, ImageCms, ImageOps, UnidentifiedImageError

from tasks.errors import InputError
from tasks.images.signatures import is_heic

MAX_PIXELS = 178_956_970
BACKGROUND = (255, 255, 255)  # shown behind transparent pixels
BLOCK = 2**20  # high-depth pixels scaled at a time

# Images over MAX_PIXELS are refused below, so Pillow's warning about smaller ones is not needed.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


with suppress(ImportError):  # HEIC needs an optional package; Pillow itself reads AVIF
    from pillow_heif import register_heif_opener

    register_heif_opener()


class UnreadableImage(InputError):
    """The bytes cannot be decoded as an image; the message says why."""


@dataclass(frozen=True)
class Picture:
    """A decoded image, possibly reduced, and its full displayed width and height in pixels."""

    image: Image.Image
    width: int
    height: int


def decode(data: bytes) -> Image.Image:
    """Decode the first frame, with EXIF orientation applied, as 8-bit RGB on a white background.

    The type is detected from the bytes. The image is decoded completely, so that truncated files are found.
    Raises UnreadableImage.
    """
    with _opened(data) as image:
        image.load()
        return _to_rgb(_upright(image))


def decode_reduced(data: bytes, side: int) -> Picture:
    """Decode as `decode` does, but a large JPEG at 1/2, 1/4 or 1/8 of its size, with the longer side at least `side`.

    libjpeg scales while decoding, which saves most of the time for large photographs.
    """
    with _opened(data) as image:
        stored = image.size
        scale = side / max(stored)
        image.draft(None, (max(1, round(stored[0] * scale)), max(1, round(stored[1] * scale))))
        turned = image.size != stored and _swaps_sides(image)
        image.load()
        reduced = image.size != stored
        upright = _upright(image)
        width, height = stored[:: -1 if turned else 1] if reduced else upright.size
        return Picture(_to_rgb(upright), width, height)


def upright_rgb(image: Image.Image) -> Image.Image:
    """A picture in memory, which is not changed, as `decode` returns one from bytes. Raises UnreadableImage."""
    if image.width * image.height > MAX_PIXELS:
        raise UnreadableImage(f"{image.width} x {image.height} pixels are over the limit of {MAX_PIXELS}")
    try:
        return _to_rgb(_upright(image.copy()))
    except Exception as error:  # a lazily opened file may be damaged
        raise UnreadableImage(" ".join(str(error).split()).rstrip(".") or type(error).__name__) from None


@contextmanager
def _opened(data: bytes) -> Iterator[Image.Image]:
    try:
        with Image.open(io.BytesIO(data)) as image:
            if image.format == "EPS":
                raise UnreadableImage("PostScript files are programs and are not run; convert it to an image")
            if image.width * image.height > MAX_PIXELS:
                raise UnreadableImage(f"{image.width} x {image.height} pixels exceed the limit of {MAX_PIXELS:,}")
            yield image
    except UnreadableImage:
        raise
    except UnidentifiedImageError:
        raise UnreadableImage(_why_unidentified(data)) from None
    except Exception as error:  # Pillow's plugins raise nearly anything on damaged bytes
        raise UnreadableImage(" ".join(str(error).split()).rstrip(".") or type(error).__name__) from None


def _why_unidentified(data: bytes) -> str:
    if is_heic(data):
        return 'HEIC images need an extra: pip install "scenekin[heif]"'
    return "not an image, or of an unknown type" if data else "empty file"


def _swaps_sides(image: Image.Image) -> bool:
    """Return whether the EXIF orientation exchanges width and height."""
    with suppress(Exception):
        return image.getexif().get(ExifTags.Base.Orientation) in (5, 6, 7, 8)
    return False


def _upright(image: Image.Image) -> Image.Image:
    """Apply the EXIF orientation; damaged EXIF data is ignored."""
    with suppress(Exception):
        ImageOps.exif_transpose(image, in_place=True)
    return image


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode == "CMYK" and image.info.get("icc_profile"):
        with suppress(ImageCms.PyCMSError, OSError):  # a damaged profile is ignored
            return _through_profile(image, image.info["icc_profile"])
    if image.mode == "F" or image.mode.startswith("I"):
        return _scaled_to_8_bit(image).convert("RGB")
    if image.has_transparency_data:
        rgba = image if image.mode == "RGBA" else image.convert("RGBA")
        shown = Image.new("RGB", rgba.size, BACKGROUND)
        shown.paste(rgba, mask=rgba)
        return shown
    return image if image.mode == "RGB" else image.convert("RGB")


def _through_profile(image: Image.Image, profile: bytes) -> Image.Image:
    """Convert CMYK to sRGB with the image's own ICC profile."""
    source, target = ImageCms.ImageCmsProfile(io.BytesIO(profile)), ImageCms.createProfile("sRGB")
    converted = ImageCms.profileToProfile(image, source, target, outputMode="RGB")
    assert converted is not None
    return converted


def _scaled_to_8_bit(image: Image.Image) -> Image.Image:
    """Scale high-depth grey to 8 bits, without clipping: integers from 16 bits, others from the image's own range."""
    stored = np.asarray(image)
    values = np.nan_to_num(stored, posinf=0, neginf=0).reshape(-1)
    low, high = float(values.min()), float(values.max())
    if image.mode != "F" and low >= 0 and high <= 65535:
        low, high = 0.0, 65535.0
    span = high - low or 1.0
    scaled = np.empty(values.shape, np.uint8)
    for start in range(0, len(values), BLOCK):
        block = values[start : start + BLOCK].astype(np.float64)
        scaled[start : start + BLOCK] = ((block - low) / span * 255).round()
    return Image.fromarray(scaled.reshape(stored.shape))
