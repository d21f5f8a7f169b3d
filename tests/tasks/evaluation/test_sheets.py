import io

import numpy as np
from PIL import Image

from tasks.evaluation.sheets import Hit, first_hits, result_sheet

IDS = ["a", "b", "c", "d"]


def test_first_hits_leave_the_query_out_and_break_ties_by_order() -> None:
    hits = first_hits(
        "b",
        image_ids=IDS,
        score_N=np.array([0.5, 1.0, 0.9, 0.5]),
        similarity_N=np.array([0.1, 1.0, 0.2, 0.3]),
        captions={"c": ["a dog", "a brown dog"]},
        top=2,
    )
    assert hits == (
        Hit(image_id="c", score=0.9, similarity=0.2, captions=("a dog", "a brown dog")),
        Hit(image_id="a", score=0.5, similarity=0.1),
    )


def solid(image_id: str) -> Image.Image:
    """Wide red, tall green, square blue and a transparent palette image."""
    if image_id == "d":
        return Image.new("P", (50, 50))
    size, colour = {"a": ((400, 100), "red"), "b": ((100, 400), "lime"), "c": ((64, 64), "blue")}[image_id]
    return Image.new("RGB", size, colour)


def area(sheet: Image.Image, colour: tuple[int, int, int]) -> tuple[int, int]:
    """Width and height of what has nearly that colour."""
    near = np.abs(np.asarray(sheet).astype(int) - colour).sum(axis=2) < 60
    rows, columns = np.nonzero(near)
    return int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1


def test_images_keep_their_aspect_ratio_and_are_read_one_at_a_time() -> None:
    read: list[str] = []

    def read_image(image_id: str) -> Image.Image:
        read.append(image_id)
        return solid(image_id)

    hits = {
        "baseline": (
            Hit(image_id="b", score=0.5, similarity=0.2),
            Hit(image_id="c", score=0.4, similarity=0.0),
        )
    }
    sheet = Image.open(io.BytesIO(result_sheet("a", hits, read_image)))
    assert read == ["a", "b", "c"]
    assert sheet.format == "JPEG"
    for colour, ratio in (((255, 0, 0), 4), ((0, 255, 0), 1 / 4), ((0, 0, 255), 1)):
        width, height = area(sheet, colour)
        assert abs(width / height / ratio - 1) < 0.06


def test_rows_may_differ_in_length_and_figures_leave_their_range() -> None:
    hits = {
        "baseline": (Hit(image_id="d", score=-0.5, similarity=1.2),),
        "trained": (
            Hit(image_id="c", score=1, similarity=-0.1),
            Hit(image_id="a", score=0.4, similarity=0.5),
        ),
    }
    two_rows = Image.open(io.BytesIO(result_sheet("b", hits, solid)))
    one_row = Image.open(io.BytesIO(result_sheet("b", {"trained": hits["trained"]}, solid)))
    assert two_rows.width == one_row.width
    assert two_rows.height > one_row.height
    assert result_sheet("b", hits, solid) == result_sheet("b", hits, solid)
