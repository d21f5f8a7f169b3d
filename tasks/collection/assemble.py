"""What a reader found joined with what the files' bytes say: the collection that all later stages work on."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tasks.collection.config import CollectionConfig
from tasks.collection.facts import Fact
from tasks.collection.records import Item, Problem, Reading, Split
from tasks.collection.splits import draw_split
from tasks.collection.text import is_unicode, printable


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
    """Usable images by id, sorted problems, and those of them that refused an image; listed = usable + refused."""

    format: str
    images: tuple[ImageRecord, ...]
    problems: tuple[Problem, ...]
    listed: int
    refused: tuple[Problem, ...]


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
    problems = [*reading.problems, *refusals, *_shortcomings(images)]
    return Collection(
        reading.format,
        tuple(images),
        _in_order(problems),
        listed=len(reading.items),
        refused=_in_order(refusals),
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


def _in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    told = [replace(told, item=printable(told.item), detail=printable(told.detail)) for told in problems]
    return tuple(sorted(told, key=lambda told: (told.kind, told.item, told.line or 0, told.detail)))
