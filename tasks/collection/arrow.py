"""A collection as Arrow tables, each in one fixed order."""

import pyarrow as pa

from tasks.collection.assemble import Collection, ImageRecord
from tasks.collection.image_info import Fact
from tasks.collection.near_duplicates import Look
from tasks.collection.records import Split

IMAGES = pa.schema(
    [
        ("image_id", pa.string()),
        ("path", pa.string()),
        ("sha256", pa.string()),
        ("width", pa.int32()),
        ("height", pa.int32()),
    ]
)
CAPTIONS = pa.schema([("image_id", pa.string()), ("captions", pa.list_(pa.string())), ("copy_group", pa.int32())])
PROBLEMS = pa.schema([("kind", pa.string()), ("item", pa.string()), ("line", pa.int32()), ("detail", pa.string())])
FACTS = pa.schema(
    [
        ("sha256", pa.string()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("problem", pa.string()),
        ("hash", pa.binary()),
        ("thumbnail", pa.binary()),
    ]
)


def image_table(collection: Collection, split: Split | None = None) -> pa.Table:
    """The usable images of a split, or all of them (also those in no split): IMAGES, sorted by id."""
    rows = [{name: getattr(image, name) for name in IMAGES.names} for image in _of(collection, split)]
    return pa.Table.from_pylist(rows, schema=IMAGES)


def caption_table(collection: Collection, split: Split | None = None) -> pa.Table:
    """The captioned images of a split, or all: CAPTIONS, sorted by id; byte copies share a copy_group."""
    groups: dict[str, int] = {}
    rows = [
        {
            "image_id": image.image_id,
            "captions": image.captions,
            "copy_group": groups.setdefault(image.sha256, len(groups)),
        }
        for image in _of(collection, split)
        if image.captions
    ]
    return pa.Table.from_pylist(rows, schema=CAPTIONS)


def problem_table(collection: Collection) -> pa.Table:
    """All problems: PROBLEMS, sorted by kind and item."""
    rows = [{name: getattr(problem, name) for name in PROBLEMS.names} for problem in collection.problems]
    return pa.Table.from_pylist(rows, schema=PROBLEMS)


def fact_table(collection: Collection) -> pa.Table:
    """What the bytes of each readable file say: FACTS, sorted by their digest."""
    facts = {fact.sha256: fact for fact in collection.facts.values() if fact.sha256}
    rows = [
        {
            **{name: getattr(fact, name) for name in FACTS.names[:4]},
            **({} if fact.look is None else {"hash": fact.look.hash, "thumbnail": fact.look.thumbnail}),
        }
        for _, fact in sorted(facts.items())
    ]
    return pa.Table.from_pylist(rows, schema=FACTS)


def facts_of(rows: pa.RecordBatch) -> dict[str, Fact]:
    """The inverse of `fact_table`, by digest."""
    return {
        row["sha256"]: Fact(
            row["sha256"],
            row["width"],
            row["height"],
            row["problem"],
            None if row["hash"] is None else Look(row["hash"], row["thumbnail"]),
        )
        for row in rows.to_pylist()
    }


def _of(collection: Collection, split: Split | None) -> list[ImageRecord]:
    return [image for image in collection.images if split is None or image.split == split]
