import numpy as np
import pytest
from PIL import Image

from tasks.images.decode import decode
from tasks.search.explanation import Dimension, Explanation
from tasks.search.heat import LARGEST, overlay, shown_size, side_by_side, upsample
from tests.tasks.images.making import encode, flat, photograph

EMPTY = np.zeros((3, 4), np.float32)


def hot(height: int, width: int, row: int, column: int) -> np.ndarray:
    """A map with one hot cell."""
    map_HW = np.zeros((height, width), np.float32)
    map_HW[row, column] = 1
    return map_HW


def difference(a: Image.Image, b: Image.Image) -> np.ndarray:
    """How much two pictures differ at each pixel."""
    assert a.size == b.size
    return np.abs(np.asarray(a, int) - np.asarray(b, int)).sum(2)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ((320, 240), (320, 240)),
        ((1024, 1024), (1024, 1024)),
        ((4000, 3000), (1024, 768)),
        ((3000, 4000), (768, 1024)),
        ((1, 1), (1, 1)),
        ((5000, 1), (1024, 1)),
    ],
)
def test_a_picture_is_shown_at_its_size_or_shrunk(size: tuple[int, int], expected: tuple[int, int]) -> None:
    assert shown_size(*size) == expected


def test_a_map_is_stretched_over_all_of_the_picture_linearly() -> None:
    """Between the centres of two cells the value is that of the nearer weighted by its nearness, beyond them theirs."""
    map_HW = np.random.default_rng(0).random((2, 3), np.float32)
    heat_HW = upsample(map_HW, 30, 8)
    assert heat_HW.shape == (8, 30)
    across = np.clip((np.arange(30) + 0.5) / 10 - 0.5, 0, 2)
    down = np.clip((np.arange(8) + 0.5) / 4 - 0.5, 0, 1)
    rows = np.stack([np.interp(across, range(3), row) for row in map_HW])
    expected_HW = np.stack([rows[0] * (1 - place) + rows[1] * place for place in down])
    np.testing.assert_allclose(heat_HW, expected_HW, atol=1e-5)


@pytest.mark.parametrize("size", [(200, 80), (80, 200), (101, 67), (1, 1), (2500, 700)])
def test_heat_has_the_picture_s_shape_and_stays_in_range(size: tuple[int, int]) -> None:
    map_HW = np.random.default_rng(1).random((7, 3), np.float32)
    shown = overlay(flat("white", *size), map_HW)
    assert shown.size == shown_size(*size)
    assert shown.mode == "RGB"
    heat_HW = upsample(map_HW, *size)
    assert heat_HW.shape == size[::-1]
    assert 0 <= heat_HW.min() <= heat_HW.max() <= 1


@pytest.mark.parametrize(("row", "column"), [(0, 0), (0, 9), (3, 0), (3, 9)])
def test_colour_lies_where_the_map_is_hot_and_nowhere_else(row: int, column: int) -> None:
    picture = photograph(200, 80)
    changed_HW = difference(overlay(picture, hot(4, 10, row, column)), picture)
    centre = row * 20 + 10, column * 20 + 10
    assert changed_HW[centre] > 60
    height, width = np.nonzero(changed_HW)
    assert (abs(height - centre[0]) <= 30).all()
    assert (abs(width - centre[1]) <= 30).all()


def test_the_hotter_the_more_colour() -> None:
    shown = np.asarray(overlay(flat("black", 256, 8), np.linspace(0, 1, 64, dtype=np.float32)[None]))
    assert (np.diff(shown[4].astype(int).sum(1)) >= -2).all()
    assert tuple(shown[4, 0]) == (0, 0, 0)


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
def test_a_map_lies_over_the_picture_as_it_is_shown(orientation: int) -> None:
    """The upper right corner of what people see, whichever way the file holds it."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    shown = decode(encode(photograph(160, 90), exif=exif))
    assert shown.size == ((160, 90) if orientation in (1, 3) else (90, 160))
    map_HW = hot(3, 5, 0, 4) if orientation in (1, 3) else hot(5, 3, 0, 2)
    changed_HW = difference(overlay(shown, map_HW), shown)
    row, column = np.unravel_index(changed_HW.argmax(), changed_HW.shape)
    assert row < shown.height / 2
    assert column > shown.width / 2


@pytest.mark.parametrize("size", [(320, 240), (60, 200), (1, 1), (9, 300)])
def test_no_evidence_is_written_on_the_picture(size: tuple[int, int]) -> None:
    picture = photograph(*size) if min(size) > 9 else flat("white", *size)
    shown = overlay(picture, EMPTY)
    changed_HW = difference(shown, picture)
    assert changed_HW.any()
    if min(size) > 9:
        assert not changed_HW[0].any()  # no heat, only words across the middle
        assert not changed_HW[-1].any()


def test_an_overlay_leaves_the_picture_itself_alone() -> None:
    picture = photograph(64, 48)
    before = np.array(picture)
    overlay(picture, EMPTY)
    overlay(picture, hot(2, 2, 0, 0))
    np.testing.assert_array_equal(before, picture)


def explanation(score: float = 0.5, map_b_HW: np.ndarray = EMPTY) -> Explanation:
    return Explanation(score, (Dimension(3, 0.2),), hot(3, 4, 1, 1), map_b_HW)


@pytest.mark.parametrize(("size_a", "size_b"), [((200, 80), (80, 200)), ((1, 1), (2, 2)), ((1500, 1000), (101, 67))])
def test_both_pictures_stand_side_by_side_whole(size_a: tuple[int, int], size_b: tuple[int, int]) -> None:
    a, b = flat("red", *size_a), flat("blue", *size_b)
    sheet, left, right = side_by_side(a, b, explanation()), overlay(a, hot(3, 4, 1, 1)), overlay(b, EMPTY)
    assert max(*left.size, *right.size) <= LARGEST
    top, x = 64, 16
    assert (difference(sheet.crop((x, top, x + left.width, top + left.height)), left) == 0).all()
    x += left.width + 16
    assert (difference(sheet.crop((x, top, x + right.width, top + right.height)), right) == 0).all()
    assert x + right.width < sheet.width
    assert top + max(left.height, right.height) < sheet.height


def test_score_and_scale_are_printed_above() -> None:
    a = flat("white", 300, 200)
    sheets = [side_by_side(a, a, explanation(score)) for score in (0.25, 0.5)]
    changed_HW = difference(*sheets)
    assert changed_HW[:64].any()
    assert not changed_HW[64:].any()
    coloured_HW = np.ptp(np.asarray(sheets[0], int)[:64], axis=2) > 60
    assert coloured_HW.any(axis=0).sum() > 60  # of the scale's 180 pixels
