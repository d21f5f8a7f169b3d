"""Result sheets: a query and each method's first results, as one picture."""

import io
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
from matplotlib.font_manager import FontProperties, findfont
from PIL import Image, ImageDraw, ImageFont, ImageOps
from pydantic import BaseModel, ConfigDict, Field

from tasks.metrics.ranked import Floats

ReadImage = Callable[[str], Image.Image]  # by image id

# Pixels: sides of the boxes that images are fitted into, and heights of the text around them.
_THUMB, _QUERY, _GAP = 160, 240, 12
_HEADING, _VALUES = 36, 82
_PAPER, _INK, _FAINT, _BAR, _TRACK = "#ffffff", "#1f2430", "#6a7280", "#0072b2", "#e1e4e9"


class Hit(BaseModel):
    """One result: its score, its true caption similarity to the query, and its captions."""

    model_config = ConfigDict(frozen=True)

    image_id: str
    score: float
    similarity: float
    captions: tuple[str, ...] = ()


class Example(BaseModel):
    """A query and the first hits of each label; `sheet` is its picture and not part of the JSON."""

    model_config = ConfigDict(frozen=True)

    query_id: str
    captions: tuple[str, ...]
    hits: dict[str, tuple[Hit, ...]]
    sheet: bytes = Field(default=b"", exclude=True, repr=False)


def first_hits(
    query_id: str,
    *,
    image_ids: Sequence[str],
    score_N: Floats,
    similarity_N: Floats,
    captions: Mapping[str, Sequence[str]],
    top: int = 7,
) -> tuple[Hit, ...]:
    """Return the `top` images with the highest scores, without the query; equal scores keep the given order."""
    order = [column for column in np.argsort(-score_N, kind="stable") if image_ids[column] != query_id]
    return tuple(
        Hit(
            image_id=image_ids[column],
            score=float(score_N[column]),
            similarity=float(similarity_N[column]),
            captions=tuple(captions.get(image_ids[column], ())),
        )
        for column in order[:top]
    )


def result_sheet(query_id: str, hits: Mapping[str, Sequence[Hit]], read_image: ReadImage) -> bytes:
    """Draw the query on the left and a row of hits per label, with score and true similarity → JPEG.

    Images are read one at a time and keep their aspect ratio.
    """
    columns = max(len(row) for row in hits.values())
    row_height = _HEADING + _THUMB + _VALUES
    left = 3 * _GAP + _QUERY
    sheet = Image.new("RGB", (left + columns * (_THUMB + _GAP), max(len(hits) * row_height, _HEADING + _QUERY)), _PAPER)
    draw = ImageDraw.Draw(sheet)
    draw.text((_GAP, _HEADING // 2), "query", _INK, _font(20, bold=True), anchor="lm")
    sheet.paste(_fit(read_image(query_id), _QUERY), (_GAP, _HEADING))
    for index, (label, row) in enumerate(hits.items()):
        top = index * row_height
        draw.text((left, top + _HEADING // 2), label, _INK, _font(20, bold=True), anchor="lm")
        for column, hit in enumerate(row):
            x, y = left + column * (_THUMB + _GAP), top + _HEADING + _THUMB
            image = _fit(read_image(hit.image_id), _THUMB)
            sheet.paste(image, (x + (_THUMB - image.width) // 2, y - image.height))
            _write_values(draw, hit, x, y)
    stream = io.BytesIO()
    sheet.save(stream, "JPEG", quality=88, subsampling=0)
    return stream.getvalue()


def _fit(image: Image.Image, side: int) -> Image.Image:
    """Scale an image so that its longer side is `side`."""
    return ImageOps.contain(image.convert("RGB"), (side, side), Image.Resampling.LANCZOS)


def _write_values(draw: ImageDraw.ImageDraw, hit: Hit, x: int, y: int) -> None:
    """Write the true caption similarity, also as a bar as wide as the image, and the score, from (x, y) down."""
    filled = round(_THUMB * min(max(hit.similarity, 0.0), 1.0))
    draw.rectangle((x, y + 6, x + _THUMB - 1, y + 11), _TRACK)
    if filled:
        draw.rectangle((x, y + 6, x + filled - 1, y + 11), _BAR)
    lines = (("captions", hit.similarity, _INK), ("score", hit.score, _FAINT))
    for line, (name, value, colour) in enumerate(lines):
        draw.text((x, y + 28 + 23 * line), name, colour, _font(18), anchor="lm")
        draw.text((x + _THUMB, y + 28 + 23 * line), f"{value:z.2f}", colour, _font(18), anchor="rm")


@cache
def _font(size: int, *, bold: bool = False) -> ImageFont.FreeTypeFont:
    weight = "bold" if bold else "normal"
    return ImageFont.truetype(findfont(FontProperties(family="DejaVu Sans", weight=weight)), size)
