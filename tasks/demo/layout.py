"""Lays out a scene: the place of each of its things, such that the image shows the relations in the scene."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from tasks.demo.glyphs import glyph
from tasks.demo.places import PLACES, Role
from tasks.demo.scenes import Scene, Seen
from tasks.demo.things import THINGS

_DISTANT = 0.75  # relative size of things that are not in front


@dataclass(frozen=True)
class Box:
    """A rectangle of the image, in pixels."""

    left: int
    top: int
    width: int
    height: int

    @property
    def bottom(self) -> int:
        """The first row of pixels below the box."""
        return self.top + self.height

    def overlap(self, other: "Box") -> int:
        """Return the area that both boxes cover, in square pixels."""
        width = min(self.left + self.width, other.left + other.width) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0, width) * max(0, height)


@dataclass(frozen=True)
class Placed:
    """One glyph of a seen thing, its box, and whether it is mirrored."""

    seen: Seen
    box: Box
    mirrored: bool


def lay_out(scene: Scene) -> list[Placed]:
    """Return every glyph in painting order: in the sky, behind, then the front row from far to near."""
    chance = Random(f"lay out {scene}")
    front = _front_row(scene, chance)
    behind = _spread(scene, "behind", front, chance)
    above = _spread(scene, "above", [*front, *behind], chance)
    signs = _spread(scene, "sky", [*front, *behind, *above], chance)
    return [*signs, *above, *behind, *sorted(front, key=lambda one: one.box.bottom)]


def _front_row(scene: Scene, chance: Random) -> list[Placed]:
    """Place the main thing and those beside it in a row, in random order, at most as wide as the image."""
    width, height = scene.size
    seen = [one for one in scene.seen if one.role in ("main", "beside")]
    row = [one for one in chance.sample(seen, len(seen)) for _ in range(one.count)]
    sizes = [_size(one, scene, chance) for one in row]
    shrink = min(1.0, 0.97 * width / sum(wide for wide, _ in sizes))
    gaps = [chance.uniform(0.2, 1.2) for _ in range(len(row) + 1)]
    spare = (width - shrink * sum(wide for wide, _ in sizes)) / sum(gaps)
    placed, left = [], 0.0
    for one, (wide, tall), gap in zip(row, sizes, gaps, strict=False):
        left += gap * spare
        ground = height * (PLACES[scene.place].front + chance.uniform(-0.04, 0.04))
        bottom = height if THINGS[one.thing].close else int(ground)
        box = Box(int(left), bottom - int(shrink * tall), int(shrink * wide), int(shrink * tall))
        placed.append(Placed(one, box, mirrored=chance.random() < 0.5))
        left += shrink * wide
    return placed


def _spread(scene: Scene, role: Role, others: Sequence[Placed], chance: Random) -> list[Placed]:
    """Place the things behind, on the far line, or above, in the sky, each where it overlaps least."""
    width, height = scene.size
    placed: list[Placed] = []
    seen = [one for one in (*scene.seen, *scene.signs) if one.role == role for _ in range(one.count)]
    for one in seen:
        wide, tall = (int(_DISTANT * side) for side in _size(one, scene, chance))
        bottom = PLACES[scene.place].back * height if role == "behind" else chance.uniform(0.02, 0.1) * height + tall
        lefts = [chance.randint(0, max(0, width - wide)) for _ in range(12)]
        boxes = [Box(left, max(0, int(bottom) - tall), wide, tall) for left in lefts]
        taken = [other.box for other in (*others, *placed)]
        freest = min(boxes, key=lambda box: sum(box.overlap(other) for other in taken))
        placed.append(Placed(one, freest, mirrored=False))
    return placed


def _size(seen: Seen, scene: Scene, chance: Random) -> tuple[float, float]:
    """Return width and height in pixels, before the front row is scaled to fit."""
    picture = glyph(THINGS[seen.thing], seen.colour, scene.time)
    tall = THINGS[seen.thing].height * min(scene.size) / 240 * chance.uniform(0.95, 1.1)
    return tall * picture.width / picture.height, tall
