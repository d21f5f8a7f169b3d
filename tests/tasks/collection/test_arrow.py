import pyarrow as pa

from tasks.collection.arrow import caption_table, image_info_from, image_info_table, image_table, problem_table
from tasks.collection.assemble import assemble
from tasks.collection.config import CollectionConfig
from tasks.collection.image_info import ImageInfo
from tasks.collection.near_duplicates import Fingerprint
from tasks.collection.records import Item, Reading

ITEMS = [
    Item("c", "c.jpg", ("Three .",), "train"),
    Item("b", "b.jpg", ("Two .", "Zwei ."), "test"),
    Item("a", "a.jpg", ("One .",), "train"),
    Item("d", "d.jpg", (), "train"),
    Item("e", "e.jpg", ("Five .",), "train"),
    Item("gone", "gone.jpg", ("Gone .",), "test", 9),
]
AS_GIVEN = CollectionConfig(validation_fraction=0, test_fraction=0)
INFOS = {f"{name}.jpg": ImageInfo(content, 4, 3) for name, content in zip("abcde", "xyxzw", strict=True)}
COLLECTION = assemble(Reading("coco", ITEMS, has_splits=True), INFOS, AS_GIVEN)


def test_images_of_all_and_of_one_split() -> None:
    table = image_table(COLLECTION)
    assert table.schema.names == ["image_id", "path", "sha256", "width", "height"]
    assert table["image_id"].to_pylist() == list("abcde")
    assert table.schema.field("width").type == pa.int32()
    assert image_table(COLLECTION, "test").to_pylist() == [
        {"image_id": "b", "path": "b.jpg", "sha256": "y", "width": 4, "height": 3}
    ]


def test_captioned_images_with_their_groups_of_copies() -> None:
    assert caption_table(COLLECTION, "train").to_pylist() == [
        {"image_id": "a", "captions": ["One ."], "copy_group": 0},
        {"image_id": "c", "captions": ["Three ."], "copy_group": 0},
        {"image_id": "e", "captions": ["Five ."], "copy_group": 1},
    ]
    assert caption_table(COLLECTION)["copy_group"].to_pylist() == [0, 1, 0, 2]


def test_an_empty_split_has_the_same_columns() -> None:
    for table_of in (image_table, caption_table):
        empty = table_of(COLLECTION, "validation")
        assert empty.num_rows == 0
        assert empty.schema == table_of(COLLECTION).schema


def test_problems() -> None:
    table = problem_table(COLLECTION)
    assert table.column_names == ["kind", "item", "line", "detail"]
    assert table.drop_columns("detail").to_pylist() == [
        {"kind": "copy", "item": "c", "line": None},
        {"kind": "missing-image", "item": "gone", "line": 9},
        {"kind": "no-caption", "item": "d", "line": None},
    ]


def test_facts_come_back_by_digest() -> None:
    infos = {
        "b.jpg": ImageInfo("y", 4, 3, fingerprint=Fingerprint(b"\x00" * 8, b"\xff" * 192)),
        "a.jpg": ImageInfo("x", 0, 0, "truncated"),
        "copy.jpg": ImageInfo("x", 0, 0, "truncated"),
        "locked.jpg": ImageInfo("", 0, 0, "cannot be read: Permission denied"),  # may be readable the next time
    }
    table = image_info_table(assemble(Reading("coco", ITEMS), infos, CollectionConfig()))
    assert table["sha256"].to_pylist() == ["x", "y"]
    (batch,) = table.to_batches()
    assert image_info_from(batch) == {"x": infos["a.jpg"], "y": infos["b.jpg"]}
