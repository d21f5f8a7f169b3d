"""A collection as Arrow tables, each in one fixed order."""

import pyarrow as pa

from tasks.collection.assemble import Collection, ImageRecord
from tasks.collection.image_info import ImageInfo
from tasks.collection.near_duplicates import Fingerprint
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
IMAGE_INFO = pa.schema(
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
    """Return the usable images of a split, or all of them (including those in no split): IMAGES, sorted by id."""
    rows = [{name: getattr(image, name) for name in IMAGES.names} for image in _images_of(collection, split)]
    return pa.Table.from_pylist(rows, schema=IMAGES)


def caption_table(collection: Collection, split: Split | None = None) -> pa.Table:
    """Return the captioned images of a split, or all: CAPTIONS, sorted by id; identical files share a copy_group."""
    groups: dict[str, int] = {}
    rows = [
        {
            "image_id": image.image_id,
            "captions": image.captions,
            "copy_group": groups.setdefault(image.sha256, len(groups)),
        }
        for image in _images_of(collection, split)
        if image.captions
    ]
    return pa.Table.from_pylist(rows, schema=CAPTIONS)


def problem_table(collection: Collection) -> pa.Table:
    """Return all problems: PROBLEMS, sorted by kind and item."""
    rows = [{name: getattr(problem, name) for name in PROBLEMS.names} for problem in collection.problems]
    return pa.Table.from_pylist(rows, schema=PROBLEMS)


def image_info_table(collection: Collection) -> pa.Table:
    """Return the image information of each readable file: IMAGE_INFO, sorted by digest."""
    by_digest = {info.sha256: info for info in collection.image_info.values() if info.sha256}
    rows = [
        {
            **{name: getattr(info, name) for name in IMAGE_INFO.names[:4]},
            **({} if info.fingerprint is None else vars(info.fingerprint)),
        }
        for _, info in sorted(by_digest.items())
    ]
    return pa.Table.from_pylist(rows, schema=IMAGE_INFO)


def image_info_from(rows: pa.RecordBatch) -> dict[str, ImageInfo]:
    """Return image information by digest; the inverse of `image_info_table`."""
    return {
        row["sha256"]: ImageInfo(
            row["sha256"],
            row["width"],
            row["height"],
            row["problem"],
            None if row["hash"] is None else Fingerprint(row["hash"], row["thumbnail"]),
        )
        for row in rows.to_pylist()
    }


def _images_of(collection: Collection, split: Split | None) -> list[ImageRecord]:
    return [image for image in collection.images if split is None or image.split == split]
