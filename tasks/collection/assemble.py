"""Joins what a reader found with image information: the collection that all later stages work on."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from tasks.collection.config import CollectionConfig
from tasks.collection.image_info import ImageInfo
from tasks.collection.near_duplicates import Fingerprint, near_duplicate_pairs
from tasks.collection.parsing.text import is_unicode, printable
from tasks.collection.records import SPLITS, Item, Problem, Reading, Split
from tasks.collection.splits import draw_split

NONE: Mapping[str, str] = MappingProxyType({})
NAMESAKES_SHOWN = 4


@dataclass(frozen=True)
class ImageRecord:
    """One usable image; `path` is relative to the images' root, width and height are in pixels as displayed."""

    image_id: str
    path: str
    sha256: str
    width: int
    height: int
    split: Split | None
    captions: tuple[str, ...]


@dataclass(frozen=True)
class Collection:
    """Usable images by id, all problems sorted, and those that refused an image; listed = usable + refused.

    `image_info` has the information of every inspected file by path.
    """

    format: str
    images: tuple[ImageRecord, ...]
    problems: tuple[Problem, ...]
    listed: int
    refused: tuple[Problem, ...]
    image_info: Mapping[str, ImageInfo]


def assemble(
    reading: Reading,
    image_info: Mapping[str, ImageInfo],
    config: CollectionConfig,
    hints: Mapping[str, str] = NONE,
    namesakes: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> Collection:
    """Make every item a usable image or refuse it with a problem; `image_info` has what is on disk, by path.

    Images without captions stay usable for search. A collection without splits gets a seeded one. `hints` say, by
    path, which file may be meant by a missing one; `namesakes` are several images that it may be.
    """
    images: list[ImageRecord] = []
    refusals: list[Problem] = []
    first: dict[str, Item] = {}
    missing = _missing_splits(reading, config)
    drawn: Counter[Split] = Counter()
    for item in reading.items:
        earlier = first.get(item.image_id)
        hint = "its row has no image" if item.path in reading.inside else hints.get(item.path)
        found = namesakes.get(item.path, ())
        outcome = _judge(item, image_info.get(item.path), hint, found, earlier)
        first.setdefault(item.image_id, item)
        if isinstance(outcome, Problem):
            refusals.append(outcome)
            continue
        split = item.split if reading.has_splits else draw_split(outcome.sha256, config)
        if split == "train" and missing:
            drawn[split := _redrawn(outcome.sha256, missing, config)] += 1
        images.append(
            ImageRecord(item.image_id, item.path, outcome.sha256, outcome.width, outcome.height, split, item.captions)
        )
    images.sort(key=lambda image: image.image_id)
    fingerprints = {info.sha256: info.fingerprint for info in image_info.values() if info.fingerprint is not None}
    repeats = [*_copies(images), *_near_duplicates(images, fingerprints)]
    problems = [*reading.problems, *refusals, *_drawn_splits(missing, drawn), *_shortcomings(images), *repeats]
    return Collection(
        reading.format,
        tuple(images),
        _sorted(problems),
        listed=len(reading.items),
        refused=_sorted(refusals),
        image_info=image_info,
    )


def _missing_splits(reading: Reading, config: CollectionConfig) -> set[Split]:
    """Return validation or test if the collection's own splits lack it and have a train split to draw it from."""
    own = {item.split for item in reading.items} if reading.has_splits else set()
    fractions: dict[Split, float] = {"validation": config.validation_fraction, "test": config.test_fraction}
    return {split for split, fraction in fractions.items() if fraction and split not in own and "train" in own}


def _redrawn(sha256: str, missing: set[Split], config: CollectionConfig) -> Split:
    """Return the new split of a training image: one of the missing splits, which are drawn from train, or train."""
    split = draw_split(sha256, config)
    return split if split in missing else "train"


def _drawn_splits(missing: set[Split], drawn: Mapping[Split, int]) -> Iterator[Problem]:
    total = sum(drawn.values())
    for split in missing:
        detail = (
            f"the collection has no {split} split; {drawn[split]:,} of its {total:,} training images were drawn for it"
        )
        yield Problem("drawn-split", split, detail)


def _judge(
    item: Item, info: ImageInfo | None, hint: str | None, namesakes: Sequence[str], earlier: Item | None
) -> ImageInfo | Problem:
    """Return the information of a usable image, or the reason why the item is refused."""
    if earlier is not None:
        return _refuse(item, "duplicate-id", f"{_twice(item.source, earlier.source)}; the first entry is used")
    if item.path.startswith(("/", "../")):
        reason = f"{item.path} is outside the image folder, so it is not read"
        return _refuse(item, "outside-collection", reason + (f"; {hint}" if hint else ""))
    if not is_unicode(item.image_id + item.path):
        return _refuse(item, "bad-name", "the file name is not valid UTF-8; rename the file")
    if info is None:
        return _missing(item, hint, namesakes)
    if info.problem is not None:
        return _refuse(item, info.problem_kind, info.problem)
    return info


def _missing(item: Item, hint: str | None, namesakes: Sequence[str]) -> Problem:
    """Return the reason why there is no file: its name is that of several images, or of none."""
    if not namesakes:
        reason = "no such file" if item.path == item.image_id else f"no such file: {item.path}"
        return _refuse(item, "missing-image", reason + (f"; {hint}" if hint else ""))
    more = len(namesakes) - NAMESAKES_SHOWN
    shown = ", ".join(namesakes[:NAMESAKES_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
    return _refuse(item, "ambiguous-name", f"several images have this name ({shown}); add the folder to the name")


def _twice(source: str | None, earlier: str | None) -> str:
    if source is None or source == earlier:
        return "this id was listed earlier"
    return f"{source} lists this id, but so does {earlier}"


def _refuse(item: Item, kind: str, reason: str) -> Problem:
    unused = f"; captions not used: {len(item.captions)}" if item.captions else ""
    return Problem(kind, item.image_id, reason + unused, item.line)


def _shortcomings(images: Sequence[ImageRecord]) -> Iterator[Problem]:
    """Yield what usable images lack; missing captions are reported only if other images have some."""
    captioned = any(image.captions for image in images)
    for image in images:
        if captioned and not image.captions:
            yield Problem(
                "no-caption", image.image_id, "has no captions; it can be found, but nothing is learned from it"
            )
        if image.split is None:
            detail = "is in no split; it can be found, but is not used for training or evaluation"
            yield Problem("no-split", image.image_id, detail)


def _copies(images: Sequence[ImageRecord]) -> Iterator[Problem]:
    """Yield every image whose bytes an earlier one has; a copy in another split is reported first."""
    earlier: dict[str, dict[Split | None, ImageRecord]] = defaultdict(dict)
    for image in images:
        yield from _repeated("copy", image, earlier[image.sha256], "identical to")
        earlier[image.sha256].setdefault(image.split, image)


def _near_duplicates(images: Sequence[ImageRecord], fingerprints: Mapping[str, Fingerprint]) -> Iterator[Problem]:
    """Yield every image that looks like an earlier one with other bytes."""
    first = {image.sha256: image for image in reversed(images) if image.sha256 in fingerprints}
    distinct = sorted(first.values(), key=lambda image: image.image_id)
    earlier: dict[int, dict[Split | None, ImageRecord]] = defaultdict(dict)
    groups = (*SPLITS, None)
    pairs = near_duplicate_pairs(
        [fingerprints[image.sha256] for image in distinct], [groups.index(image.split) for image in distinct]
    )
    for before, row in pairs:
        earlier[row][distinct[before].split] = distinct[before]
    for row, found in earlier.items():
        yield from _repeated("near-duplicate", distinct[row], found, "looks like")


def _repeated(
    kind: str, image: ImageRecord, earlier: Mapping[Split | None, ImageRecord], relation: str
) -> Iterator[Problem]:
    """Yield a problem if the image repeats an earlier one; `earlier` has the first image that it repeats by split.

    A repetition in another split is reported as such, even if there is one in the same split too.
    """
    across = [other for split, other in earlier.items() if None not in (split, image.split) and split != image.split]
    if across:
        detail = f"in {image.split}, {relation} {across[0].image_id} in {across[0].split}; both are kept"
        yield Problem(f"{kind}-across-splits", image.image_id, detail)
    elif earlier:
        other = next(iter(earlier.values()))
        yield Problem(kind, image.image_id, f"{relation} {other.image_id}; both are kept")


def _sorted(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    shown = [replace(one, item=printable(one.item), detail=printable(one.detail)) for one in problems]
    return tuple(sorted(shown, key=lambda one: (one.kind, one.item, one.line or 0, one.detail)))
