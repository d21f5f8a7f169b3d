"""The layout shows the relations that the scene has."""

import pytest

from tasks.demo.layout import Box, Placed, lay_out
from tasks.demo.scenes import Scene, make_scenes
from tasks.demo.things import THINGS


@pytest.fixture(scope="module")
def laid_out() -> list[tuple[Scene, list[Placed]]]:
    return [(scene, lay_out(scene)) for scene in make_scenes(300)]


def test_overlap_is_the_common_area() -> None:
    box = Box(0, 0, 10, 10)
    assert box.overlap(Box(5, 5, 10, 10)) == 25
    assert box.overlap(box) == 100
    assert box.overlap(Box(10, 0, 5, 5)) == 0
    assert box.overlap(Box(20, 20, 5, 5)) == 0


def test_every_thing_is_placed_as_often_as_it_is_seen(laid_out: list[tuple[Scene, list[Placed]]]) -> None:
    for scene, placed in laid_out:
        for one in (*scene.seen, *scene.signs):
            assert sum(other.seen == one for other in placed) == one.count


def test_nothing_is_cut_off_by_the_image(laid_out: list[tuple[Scene, list[Placed]]]) -> None:
    for scene, placed in laid_out:
        width, height = scene.size
        for box in (one.box for one in placed):
            assert 0 <= box.left <= box.left + box.width <= width
            assert 0 <= box.top <= box.bottom <= height


def test_the_front_row_stands_side_by_side(laid_out: list[tuple[Scene, list[Placed]]]) -> None:
    for _, placed in laid_out:
        row = sorted(one.box.left for one in placed if one.seen.role in ("main", "beside"))
        ends = sorted(one.box.left + one.box.width for one in placed if one.seen.role in ("main", "beside"))
        assert all(left >= end for left, end in zip(row[1:], ends, strict=False))


def test_what_is_behind_stands_higher_and_what_is_above_hangs_higher(
    laid_out: list[tuple[Scene, list[Placed]]],
) -> None:
    for _, placed in laid_out:
        ground = min(one.box.bottom for one in placed if one.seen.role in ("main", "beside"))
        assert all(one.box.bottom < ground for one in placed if one.seen.role in ("behind", "above"))


def test_portraits_reach_the_lower_edge(laid_out: list[tuple[Scene, list[Placed]]]) -> None:
    portraits = [(scene, one) for scene, placed in laid_out for one in placed if THINGS[one.seen.thing].close]
    assert portraits
    assert all(one.box.bottom == scene.size[1] for scene, one in portraits)


def test_main_things_are_large_enough_to_see(laid_out: list[tuple[Scene, list[Placed]]]) -> None:
    sizes = [max(one.box.width, one.box.height) for _, placed in laid_out for one in placed if one.seen.role == "main"]
    assert min(sizes) >= 40
    assert sorted(sizes)[len(sizes) // 2] >= 80
