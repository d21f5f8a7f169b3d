"""A collection as Arrow tables, each in one fixed order."""

import pyarrow as pa

from tasks.collection.assemble import Collection, ImageRecord
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


def _of(collection: Collection, split: Split | None) -> list[ImageRecord]:
    return [image for image in collection.images if split is None or image.split == split]
