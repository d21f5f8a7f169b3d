"""Heat maps drawn over their images (METHOD.md 7)."""

from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tasks.search.explanation import Explanation

LARGEST = 1024  # pixels, longer side of a shown image
NO_EVIDENCE = "no evidence"
_COVER = 0.75  # opacity of the hottest cell
_INFERNO = (  # Matplotlib's colours from 0 to 1; importing it would create its folder in the user's home
    "000004 0b0724 210c4a 3d0965 57106e 71196e 8a226a a32c61 bc3754 d04545 e35933 f1711f f98c0a fcaa0f f9c932 f2e865 "
    "fcffa4"
)
_COLOUR_K3 = np.array([tuple(bytes.fromhex(colour)) for colour in _INFERNO.split()])
_PAPER, _INK, _FAINT = "#ffffff", "#1f2430", "#6a7280"
_GAP, _HEADER, _SCALE = 16, 64, (180, 14)  # pixels


def shown_size(width: int, height: int) -> tuple[int, int]:
    """Return the (width, height) of a shown image: its own, scaled down if the longer side exceeds LARGEST."""
    scale = min(1.0, LARGEST / max(width, height))
    return max(1, round(width * scale)), max(1, round(height * scale))


def upsample(map_HW: np.ndarray, width: int, height: int) -> np.ndarray:
    """Interpolate a map linearly between the centres of its cells → heat_HW in [0, 1], `height` × `width`."""
    heat = Image.fromarray(map_HW.astype(np.float32)).resize((width, height), Image.Resampling.BILINEAR)
    heat_HW: np.ndarray = np.asarray(heat).clip(0, 1)
    return heat_HW


def overlay(image: Image.Image, map_HW: np.ndarray) -> Image.Image:
    """Return an upright image at the shown size with its heat map over it; hotter cells are more opaque.

    Preprocessing does not crop, so the cells cover the image evenly. If the map is 0 everywhere, "no evidence" is
    written on the image instead.
    """
    shown = image.convert("RGB").resize(shown_size(*image.size), Image.Resampling.LANCZOS)
    if not map_HW.any():
        _write_no_evidence(shown)
        return shown
    return _tint(shown, upsample(map_HW, *shown.size))


def side_by_side(image_a: Image.Image, image_b: Image.Image, explanation: Explanation) -> Image.Image:
    """Place both images with their maps side by side, below the score and the colour scale."""
    left, right = overlay(image_a, explanation.map_a_HW), overlay(image_b, explanation.map_b_HW)
    width = max(left.width + right.width + 3 * _GAP, _SCALE[0] + 300)
    sheet = Image.new("RGB", (width, max(left.height, right.height) + _HEADER + _GAP), _PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((_GAP, _HEADER // 2), f"score {explanation.score:z.3f}", _INK, _font(24), anchor="lm")
    _draw_scale(sheet, draw)
    sheet.paste(left, (_GAP, _HEADER))
    sheet.paste(right, (left.width + 2 * _GAP, _HEADER))
    return sheet


def _tint(shown: Image.Image, heat_HW: np.ndarray) -> Image.Image:
    step_K = np.linspace(0, 1, len(_COLOUR_K3))
    colour_HW3 = np.stack([np.interp(heat_HW, step_K, channel_K) for channel_K in _COLOUR_K3.T], axis=-1)
    cover_HW1 = _COVER * heat_HW[..., None]
    mixed_HW3 = np.asarray(shown) * (1 - cover_HW1) + colour_HW3 * cover_HW1
    return Image.fromarray(mixed_HW3.round().astype(np.uint8))


def _draw_scale(sheet: Image.Image, draw: ImageDraw.ImageDraw) -> None:
    """Draw the colour scale from 0 to 1, over grey."""
    width, height = _SCALE
    left, top = sheet.width - _GAP - width, _HEADER // 2 - height
    ramp_HW = np.broadcast_to(np.linspace(0, 1, width), (height, width))
    sheet.paste(_tint(Image.new("RGB", _SCALE, "#c0c0c0"), ramp_HW), (left, top))
    for x, label, anchor in ((0, "0", "la"), (width // 2, "evidence", "ma"), (width, "1", "ra")):
        draw.text((left + x, top + height + 4), label, _FAINT, _font(14), anchor=anchor)


def _write_no_evidence(shown: Image.Image) -> None:
    """Write the label across the middle, as large as fits."""
    draw = ImageDraw.Draw(shown, "RGBA")
    size = max(6, min(28, shown.width // 8))
    middle = shown.width / 2, shown.height / 2
    left, top, right, bottom = draw.textbbox(middle, NO_EVIDENCE, _font(size), anchor="mm")
    draw.rectangle((left - size / 2, top - size / 3, right + size / 2, bottom + size / 3), (31, 36, 48, 200))
    draw.text(middle, NO_EVIDENCE, "white", _font(size), anchor="mm")


@cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)
