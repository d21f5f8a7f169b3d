"""What a reader found joined with what the files' bytes say: the collection that all later stages work on."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tasks.collection.config import CollectionConfig
from tasks.collection.image_info import Fact
from tasks.collection.near_duplicates import Look, alike
from tasks.collection.parsing.text import is_unicode, printable
from tasks.collection.records import SPLITS, Item, Problem, Reading, Split
from tasks.collection.splits import draw_split


@dataclass(frozen=True)
class ImageRecord:
    """One usable image; `path` is relative to the images' root, width and height are in pixels as shown."""

    image_id: str
    path: str
    sha256: str
    width: int
    height: int
    split: Split | None
    captions: tuple[str, ...]


@dataclass(frozen=True)
class Collection:
    """Usable images by id, sorted problems, and those of them that refused an image; listed = usable + refused.

    `facts` are what the files' bytes say, by path.
    """

    format: str
    images: tuple[ImageRecord, ...]
    problems: tuple[Problem, ...]
    listed: int
    refused: tuple[Problem, ...]
    facts: Mapping[str, Fact]


def assemble(reading: Reading, facts: Mapping[str, Fact], config: CollectionConfig) -> Collection:
    """Every item is either a usable image or refused with a problem; `facts` holds what is on disk, by path.

    Images without captions stay usable, to be searched. A collection without splits gets a seeded one.
    """
    images: list[ImageRecord] = []
    refusals: list[Problem] = []
    seen: set[str] = set()
    for item in reading.items:
        outcome = _judge(item, facts.get(item.path), repeated=item.image_id in seen)
        seen.add(item.image_id)
        if isinstance(outcome, Problem):
            refusals.append(outcome)
            continue
        split = item.split if reading.has_splits else draw_split(outcome.sha256, config)
        images.append(
            ImageRecord(item.image_id, item.path, outcome.sha256, outcome.width, outcome.height, split, item.captions)
        )
    images.sort(key=lambda image: image.image_id)
    looks = {fact.sha256: fact.look for fact in facts.values() if fact.look is not None}
    repeats = [*_copies(images), *_near_duplicates(images, looks)]
    problems = [*reading.problems, *refusals, *_shortcomings(images), *repeats]
    return Collection(
        reading.format,
        tuple(images),
        _in_order(problems),
        listed=len(reading.items),
        refused=_in_order(refusals),
        facts=facts,
    )


def _judge(item: Item, fact: Fact | None, repeated: bool) -> Fact | Problem:
    """The facts of a usable image, or the one reason why the item is refused."""
    if repeated:
        return _refuse(item, "duplicate-id", "this id is listed before; the first stands")
    if item.path.startswith(("/", "../")):
        return _refuse(item, "outside-collection", f"{item.path} is outside the images' folder and not read")
    if not is_unicode(item.image_id + item.path):
        return _refuse(item, "bad-name", "the name is not UTF-8; rename the file")
    if fact is None:
        return _refuse(item, "missing-image", f"there is no file {item.path}")
    if fact.problem is not None:
        return _refuse(item, "unreadable-image", fact.problem)
    return fact


def _refuse(item: Item, kind: str, reason: str) -> Problem:
    unused = f"; captions not used: {len(item.captions)}" if item.captions else ""
    return Problem(kind, item.image_id, reason + unused, item.line)


def _shortcomings(images: Sequence[ImageRecord]) -> Iterator[Problem]:
    """What usable images lack; a caption is missed only where others have one."""
    captioned = any(image.captions for image in images)
    for image in images:
        if captioned and not image.captions:
            yield Problem("no-caption", image.image_id, "kept as an image to search, not to learn from")
        if image.split is None:
            yield Problem("no-split", image.image_id, "in no split; kept as an image to search")


def _copies(images: Sequence[ImageRecord]) -> Iterator[Problem]:
    """Every image whose bytes an earlier one has; a split that another one leaks into is told first."""
    earlier: dict[str, dict[Split | None, ImageRecord]] = defaultdict(dict)
    for image in images:
        yield from _told("copy", image, earlier[image.sha256], "the same bytes as")
        earlier[image.sha256].setdefault(image.split, image)


def _near_duplicates(images: Sequence[ImageRecord], looks: Mapping[str, Look]) -> Iterator[Problem]:
    """Every image that looks like an earlier one of other bytes."""
    first = {image.sha256: image for image in reversed(images) if image.sha256 in looks}
    pictured = sorted(first.values(), key=lambda image: image.image_id)
    earlier: dict[int, dict[Split | None, ImageRecord]] = defaultdict(dict)
    sides = (*SPLITS, None)
    pairs = alike([looks[image.sha256] for image in pictured], [sides.index(image.split) for image in pictured])
    for before, row in pairs:
        earlier[row][pictured[before].split] = pictured[before]
    for row, found in earlier.items():
        yield from _told("near-duplicate", pictured[row], found, "looks like")


def _told(
    kind: str, image: ImageRecord, earlier: Mapping[Split | None, ImageRecord], likeness: str
) -> Iterator[Problem]:
    """That the image repeats one of the earlier images, by split: across splits if it does so anywhere."""
    across = [other for split, other in earlier.items() if None not in (split, image.split) and split != image.split]
    if across:
        detail = f"in {image.split}, {likeness} {across[0].image_id} in {across[0].split}; both are kept"
        yield Problem(f"{kind}-across-splits", image.image_id, detail)
    elif earlier:
        other = next(iter(earlier.values()))
        yield Problem(kind, image.image_id, f"{likeness} {other.image_id}; both are kept")


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    told = [replace(told, item=printable(told.item), detail=printable(told.detail)) for told in problems]
    return tuple(sorted(told, key=lambda told: (told.kind, told.item, told.line or 0, told.detail)))
