"""Decodes bytes into an upright RGB image; the only decoder, used for training, indexing and queries alike."""

import io
import math
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass

import numpy as np
from PIL import ExifTags, Image, ImageCms, ImageOps, UnidentifiedImageError
from PIL.TiffImagePlugin import TiffImageFile

from tasks.errors import InputError
from tasks.images.signatures import CONVERT, UNSUPPORTED, is_heic

MAX_PIXELS = 178_956_970
BACKGROUND = (255, 255, 255)  # shown behind transparent pixels
BLOCK = 2**20  # high-depth pixels scaled at a time
LARGE = 2**28  # bytes; images that take more are decoded one at a time
FORMATS = ("AVIF", "BMP", "GIF", "HEIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")  # others may contain anything
BYTES_PER_PIXEL = {"RGB": 4, "1": 5, "L": 5, "P": 5, "RGBA": 8, "RGBX": 8, "CMYK": 8, "YCbCr": 8, "LAB": 8}
BUFFERED = {"WEBP": 17, "AVIF": 18, "HEIF": 16}  # bytes per pixel of formats whose libraries keep further copies
PHOTOGRAPH, BITS = 11, 8  # the same of HEIC as phones write it, with 8 bits and without transparency

MIN_SCAN = 100_000  # pixels; a scan of fewer costs as much
HEADER_READS, DATA_READS = 2**18, 2**20  # Pillow reads the parts of a file one by one
COMMENT = 1000

TILEWIDTH, TILELENGTH = 322, 323  # TIFF tags
SOS = 0xDA  # JPEG markers
START_OF_FRAME = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
PROGRESSIVE = {0xC2, 0xC6, 0xCA, 0xCE}

_LARGE_DECODING = threading.Lock()

# Pillow warns of large images, which are refused below over MAX_PIXELS, and of damage that decoding survives.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
warnings.filterwarnings("ignore", module=r"PIL\.\w+ImagePlugin")


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


@dataclass(frozen=True)
class Budget:
    """Limits that are checked before an image is decoded.

    `side` and `pixels` are those of the stored image, `memory` is in bytes and includes the conversion to RGB, `scans`
    limits the scans of a progressive JPEG times its pixels, `slow` the bytes of a file that Pillow decodes in Python.
    Of an animation only the first frame is ever decoded.
    """

    side: int = 65_535
    pixels: int = MAX_PIXELS
    memory: int = 2**30
    scans: int = 1_500_000_000
    slow: int = 2**24


BUDGET = Budget()
UPLOAD_SIDE = 1280  # pixels that an uploaded image is reduced to at least
UPLOADS = Budget(memory=2**29, scans=500_000_000, slow=2**20)


def decode(data: bytes, budget: Budget = BUDGET) -> Image.Image:
    """Decode the first frame, with EXIF orientation applied, as 8-bit RGB on a white background.

    The type is detected from the bytes. The image is decoded completely, so that truncated files are found.
    Raises UnreadableImage.
    """
    with _opened(data, budget) as (image, _):
        image.load()
        return _to_rgb(_upright(image))


def decode_reduced(data: bytes, side: int, budget: Budget = BUDGET) -> Picture:
    """Decode as `decode` does, but a large JPEG at 1/2, 1/4 or 1/8 of its size, with the longer side at least `side`.

    libjpeg scales while decoding, which saves most of the time for large photographs.
    """
    with _opened(data, budget, side) as (image, stored):
        turned = image.size != stored and _swaps_sides(image)
        image.load()
        reduced = image.size != stored
        upright = _upright(image)
        width, height = stored[:: -1 if turned else 1] if reduced else upright.size
        return Picture(_to_rgb(upright), width, height)


def check_budget(data: bytes, side: int, budget: Budget = UPLOADS) -> None:
    """Raise UnreadableImage if decoding an image, reduced to no less than `side`, would exceed the budget."""
    with _opened(data, budget, side):
        pass


def upright_rgb(image: Image.Image) -> Image.Image:
    """Return an image in memory, which is not changed, as `decode` returns one from bytes. Raises UnreadableImage."""
    _require_size(image.size, BUDGET)
    with refusing():
        return _to_rgb(_upright(image.copy()))


@contextmanager
def refusing() -> Iterator[None]:
    """Turn any error while an image is processed, lack of memory included, into UnreadableImage."""
    try:
        yield
    except UnreadableImage:
        raise
    except MemoryError:
        raise UnreadableImage("there is not enough memory to process it") from None
    except Exception as error:  # Pillow's plugins raise nearly anything on damaged bytes
        raise UnreadableImage(" ".join(str(error).split()).rstrip(".") or type(error).__name__) from None


@contextmanager
def _opened(data: bytes, budget: Budget, side: int | None = None) -> Iterator[tuple[Image.Image, tuple[int, int]]]:
    """Open an image within the budget, JPEG reduced to no less than `side`, with its stored size."""
    with refusing():
        try:
            stream = _Stream(data)
            opened = Image.open(stream, formats=[name for name in FORMATS if name != "HEIF" or name in Image.OPEN])
        except UnidentifiedImageError:
            raise UnreadableImage(_why_unidentified(data)) from None
        with opened as image:
            stored = image.size
            _require_size(stored, budget)
            if side is not None:
                scale = side / max(stored)
                image.draft(None, (max(1, round(stored[0] * scale)), max(1, round(stored[1] * scale))))
            memory = _memory(image, stored, data)
            if memory > budget.memory:
                needed, limit = (f"{size / 1e6:,.0f} MB" for size in (memory, budget.memory))
                raise UnreadableImage(
                    f"decoding it takes {needed}, which exceeds the limit of {limit}; reduce the image"
                )
            if image.format in ("JPEG", "MPO") and _scans(data) * max(stored[0] * stored[1], MIN_SCAN) > budget.scans:
                raise UnreadableImage("the JPEG has too many scans for its size; save it again")
            work = _python_work(image, data)
            if work > budget.slow:
                raise UnreadableImage(f"decoding this kind of {image.format} takes too long; save it as PNG")
            stream.reads_left = math.inf if work else DATA_READS
            with _LARGE_DECODING if memory > LARGE else nullcontext():
                yield image, stored


def _require_size(size: tuple[int, int], budget: Budget) -> None:
    width, height = size
    if max(size) > budget.side:
        raise UnreadableImage(f"{width} x {height} pixels exceed the limit of {budget.side:,} for a side")
    if width * height > budget.pixels:
        raise UnreadableImage(f"{width} x {height} pixels exceed the limit of {budget.pixels:,}")


def _memory(image: Image.Image, stored: tuple[int, int], data: bytes) -> int:
    """Return the bytes that decoding and converting to RGB take at most."""
    mode = image.mode.partition(";")[0]
    per_pixel = 9 if mode == "P" and image.has_transparency_data else BYTES_PER_PIXEL.get(mode, 14)
    buffered = BUFFERED.get(image.format or "", 0)
    if image.format == "HEIF" and mode == "RGB" and image.info.get("bit_depth") == BITS:
        buffered = PHOTOGRAPH
    memory = image.width * image.height * max(per_pixel, buffered)
    if image.format in ("JPEG", "MPO") and _has_several_scans(data):
        memory += 6 * stored[0] * stored[1]  # all coefficients are kept until the last scan
    if isinstance(image, TiffImageFile):
        width, height = (image.tag_v2.get(tag, 0) for tag in (TILEWIDTH, TILELENGTH))
        memory += 8 * int(width) * int(height)  # a tile may be larger than the image
    return memory


def _has_several_scans(data: bytes) -> bool:
    """Return whether the first scan of a JPEG is progressive or lacks some of its components.

    Finds the markers as libjpeg does: bytes between segments are skipped.
    """
    place, components = 2, 0
    while (place := data.find(b"\xff", place)) >= 0 and place + 9 < len(data):
        marker = data[place + 1]
        if marker == SOS:
            return data[place + 4] < components
        if marker in START_OF_FRAME:
            components = data[place + 9]
            if marker in PROGRESSIVE:
                return True
        is_segment = marker not in (0x00, 0x01, 0xFF) and not 0xD0 <= marker <= 0xD8
        place += 2 + int.from_bytes(data[place + 2 : place + 4]) if is_segment else 1
    return False


def _scans(data: bytes) -> int:
    """Return the number of scans of a JPEG, by their markers; those of an embedded thumbnail count too."""
    return data.count(b"\xff\xda")


def _python_work(image: Image.Image, data: bytes) -> int:
    """Return how many bytes Python code decodes; a comment in a text PPM takes as long as COMMENT bytes."""
    codecs = {tile[0] for tile in getattr(image, "tile", ())}
    if codecs.isdisjoint(Image.DECODERS):
        return 0
    return len(data) + COMMENT * (data.count(b"#") if "ppm_plain" in codecs else 0)


class _Stream(io.BytesIO):
    """The bytes of an image file, of which only so many parts are read."""

    reads_left: float = HEADER_READS

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads_left -= 1
        if self.reads_left < 0:
            raise UnreadableImage("it consists of too many parts")
        return super().read(size)


def _why_unidentified(data: bytes) -> str:
    if is_heic(data):
        return 'HEIC images need an extra: pip install "scenekin[heif]"'
    if data.startswith(UNSUPPORTED):
        return CONVERT
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
    values = stored.reshape(-1)
    extremes = [(float(block.min()), float(block.max())) for block in map(_finite, _blocks(values))]
    low, high = min(low for low, _ in extremes), max(high for _, high in extremes)
    if image.mode != "F" and low >= 0 and high <= 65535:
        low, high = 0.0, 65535.0
    span = high - low or 1.0
    scaled = np.empty(values.shape, np.uint8)
    for number, block in enumerate(_blocks(values)):
        scaled[number * BLOCK : (number + 1) * BLOCK] = ((_finite(block) - low) / span * 255).round()
    return Image.fromarray(scaled.reshape(stored.shape))


def _blocks(values: np.ndarray) -> Iterator[np.ndarray]:
    return (values[start : start + BLOCK] for start in range(0, len(values), BLOCK))


def _finite(block: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # of NaNs that signal
        return np.nan_to_num(block.astype(np.float64), posinf=0, neginf=0)
