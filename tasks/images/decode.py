"""Bytes to an upright RGB picture: the one decoder for training, indexing and queries alike."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import numpy as np
from PIL import ExifTags, Image, ImageCms, ImageOps, UnidentifiedImageError

from tasks.errors import InputError

MAX_PIXELS = 178_956_970
BACKGROUND = (255, 255, 255)  # what shows through transparent pixels
BLOCK = 2**20  # pixels of high depth that are scaled at a time

# MAX_PIXELS is refused by name below, so Pillow's own earlier warning says nothing new.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


with suppress(ImportError):  # HEIC where its package is installed; AVIF is Pillow's own
    from pillow_heif import register_heif_opener

    register_heif_opener()


class UnreadableImage(InputError):
    """These bytes are no picture that can be decoded; the message says why."""


@dataclass(frozen=True)
class Picture:
    """A decoded picture, and how wide and high in pixels it is shown in full."""

    image: Image.Image
    width: int
    height: int


def decode(data: bytes) -> Image.Image:
    """The first frame, EXIF orientation applied, as 8-bit RGB over a white background.

    The bytes decide the type. Decoding is forced, so that a truncated file is found. Raises UnreadableImage.
    """
    with _opened(data) as image:
        image.load()
        return _to_rgb(_upright(image))


def decode_reduced(data: bytes, side: int) -> Picture:
    """As `decode`, but a large JPEG comes at 1/2, 1/4 or 1/8 of its size, its longer side at least `side` pixels.

    libjpeg reduces while it decodes, which saves most of the time that large photographs take.
    """
    with _opened(data) as image:
        stored = image.size
        scale = side / max(stored)
        image.draft(None, (max(1, round(stored[0] * scale)), max(1, round(stored[1] * scale))))
        turned = image.size != stored and _lies_on_its_side(image)
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
                raise UnreadableImage("a PostScript program, which is not run; give a picture made of it")
            if image.width * image.height > MAX_PIXELS:
                raise UnreadableImage(f"{image.width} x {image.height} pixels are over the limit of {MAX_PIXELS}")
            yield image
    except UnreadableImage:
        raise
    except UnidentifiedImageError:
        raise UnreadableImage("empty file" if not data else "not an image of a known type") from None
    except Exception as error:  # Pillow's plugins raise nearly anything on damaged bytes
        raise UnreadableImage(" ".join(str(error).split()).rstrip(".") or type(error).__name__) from None


def _lies_on_its_side(image: Image.Image) -> bool:
    with suppress(Exception):
        return image.getexif().get(ExifTags.Base.Orientation) in (5, 6, 7, 8)
    return False


def _upright(image: Image.Image) -> Image.Image:
    """The picture as its EXIF orientation wants it shown; damaged EXIF counts as none."""
    with suppress(Exception):
        ImageOps.exif_transpose(image, in_place=True)
    return image


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode == "CMYK" and image.info.get("icc_profile"):
        with suppress(ImageCms.PyCMSError, OSError):  # a damaged profile counts as none
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
    """Printing inks to sRGB as the picture's own ICC profile says."""
    source, target = ImageCms.ImageCmsProfile(io.BytesIO(profile)), ImageCms.createProfile("sRGB")
    converted = ImageCms.profileToProfile(image, source, target, outputMode="RGB")
    assert converted is not None
    return converted


def _scaled_to_8_bit(image: Image.Image) -> Image.Image:
    """High-depth grey scaled, not clipped: integers from their 16-bit range, others from what the picture spans."""
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
