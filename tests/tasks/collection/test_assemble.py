from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tasks.collection.assemble import ImageRecord, assemble
from tasks.collection.config import CollectionConfig
from tasks.collection.image_info import ImageInfo
from tasks.collection.near_duplicates import fingerprint_of
from tasks.collection.records import Item, Problem, Reading, Split
from tasks.images.decode import decode
from tests.tasks.images.making import photograph, variants

CONFIG = CollectionConfig()
AS_GIVEN = CollectionConfig(validation_fraction=0, test_fraction=0)
REFUSALS = {"duplicate-id", "outside-collection", "bad-name", "missing-image", "unreadable-image"}
PATHS = st.sampled_from(["a.jpg", "b.jpg", "c.jpg", "d.jpg", "../e.jpg", "/f.jpg", "\udcf1.jpg"])
ITEMS = st.builds(
    Item,
    image_id=st.sampled_from("1234"),
    path=PATHS,
    captions=st.sampled_from([(), ("A dog .",), ("A dog .", "A cat .")]),
    split=st.sampled_from(["train", "validation", "test", None]),
)
INFOS = st.dictionaries(
    PATHS, st.builds(ImageInfo, st.sampled_from("xyz"), st.just(1), st.just(1), st.sampled_from([None, "bad"]))
)


@given(st.lists(ITEMS), INFOS, st.booleans())
def test_listed_is_usable_and_refused_in_any_case(items: list[Item], infos: dict[str, ImageInfo], own: bool) -> None:
    collection = assemble(Reading("coco", items, has_splits=own), infos, CONFIG)
    counts = Counter(problem.kind for problem in collection.problems)
    assert len(items) == collection.listed == len(collection.images) + len(collection.refused)
    assert len(collection.refused) == sum(counts[kind] for kind in REFUSALS)
    ids = [image.image_id for image in collection.images]
    assert ids == sorted(set(ids))
    assert counts["no-split"] == sum(image.split is None for image in collection.images)
    assert own or not counts["no-split"] + counts["drawn-split"]


@given(st.permutations([Item(name, f"{name}.jpg", ("x",)) for name in "abcde"]))
def test_the_order_of_reading_does_not_matter(items: list[Item]) -> None:
    infos = {f"{name}.jpg": ImageInfo(name, 1, 1) for name in "abd"}
    in_order = sorted(items, key=lambda item: item.image_id)
    assert assemble(Reading("coco", items), infos, CONFIG) == assemble(Reading("coco", in_order), infos, CONFIG)


def test_every_refusal_names_its_item_and_reason() -> None:
    items = [
        Item("1", "a.jpg", ("A dog .",), "train", 1),
        Item("1", "b.jpg", ("A cat .",), "train", 2),
        Item("2", "gone.jpg", ("x", "y"), "train", 3),
        Item("3", "broken.jpg", (), "test", 4),
        Item("pe\udcf1a.jpg", "pe\udcf1a.jpg"),
        Item("/etc/passwd", "/etc/passwd", line=6),
    ]
    good = ImageInfo("x", 4, 3)
    infos = {"a.jpg": good, "b.jpg": good, "broken.jpg": ImageInfo("y", 0, 0, "truncated"), "pe\udcf1a.jpg": good}
    collection = assemble(Reading("coco", items, has_splits=True), infos, AS_GIVEN)
    assert collection.images == (ImageRecord("1", "a.jpg", "x", 4, 3, "train", ("A dog .",)),)
    assert collection.problems == (
        Problem("bad-name", r"pe\udcf1a.jpg", "the file name is not valid UTF-8; rename the file"),
        Problem("duplicate-id", "1", "this id was listed earlier; the first entry is used; captions not used: 1", 2),
        Problem("missing-image", "2", "no such file: gone.jpg; captions not used: 2", 3),
        Problem("outside-collection", "/etc/passwd", "/etc/passwd is outside the image folder, so it is not read", 6),
        Problem("unreadable-image", "3", "truncated", 4),
    )


def test_of_many_images_that_a_name_may_mean_some_are_named() -> None:
    images = [f"{number}/a.jpg" for number in range(6)]
    (refused,) = assemble(Reading("table", [Item("a.jpg", "a.jpg")]), {}, CONFIG, namesakes={"a.jpg": images}).refused
    assert refused.kind == "ambiguous-name"
    assert "(0/a.jpg, 1/a.jpg, 2/a.jpg, 3/a.jpg and 2 more)" in refused.detail


def test_copies_are_told_and_leaks_by_name() -> None:
    infos = {f"{name}.jpg": ImageInfo(name[0], 1, 1) for name in ("x1", "x2", "x3", "y1", "y2", "z1")}
    splits: dict[str, Split | None] = {"x1": "train", "x2": "test", "x3": "train", "y1": "test", "y2": None}
    items = [Item(name, f"{name}.jpg", split=split) for name, split in splits.items()]
    collection = assemble(Reading("coco", items, has_splits=True), infos, AS_GIVEN)
    assert len(collection.images) == 5
    assert [(told.kind, told.item, told.detail) for told in collection.problems if told.kind != "no-split"] == [
        ("copy", "y2", "identical to y1; both are kept"),
        ("copy-across-splits", "x2", "in test, identical to x1 in train; both are kept"),
        ("copy-across-splits", "x3", "in train, identical to x2 in test; both are kept"),
    ]


def test_near_duplicates_are_told_and_leaks_by_name() -> None:
    fingerprints = [fingerprint_of(decode(data)) for data in variants(photograph())]
    infos = {f"{n}.jpg": ImageInfo(str(n), 1, 1, fingerprint=fingerprint) for n, fingerprint in enumerate(fingerprints)}
    infos["other.jpg"] = ImageInfo("other", 1, 1, fingerprint=fingerprint_of(photograph(seed=1)))
    items = [Item("0", "0.jpg", split="train"), Item("1", "1.jpg", split="train"), Item("2", "2.jpg", split="test")]
    items.append(Item("other", "other.jpg", split="test"))
    collection = assemble(Reading("coco", items, has_splits=True), infos, AS_GIVEN)
    assert [(told.kind, told.item, told.detail) for told in collection.problems] == [
        ("near-duplicate", "1", "looks like 0; both are kept"),
        ("near-duplicate-across-splits", "2", "in test, looks like 0 in train; both are kept"),
    ]


def test_a_caption_is_missed_only_where_others_have_one() -> None:
    infos = {"a.jpg": ImageInfo("x", 1, 1), "b.jpg": ImageInfo("y", 1, 1)}
    bare = [Item("a", "a.jpg"), Item("b", "b.jpg")]
    assert assemble(Reading("folder", bare), infos, CONFIG).problems == ()
    captioned = [Item("a", "a.jpg", ("A dog .",)), Item("b", "b.jpg")]
    told = assemble(Reading("coco", captioned), infos, CONFIG).problems
    assert [(problem.kind, problem.item) for problem in told] == [("no-caption", "b")]


def test_the_dataset_s_own_splits_are_kept_and_none_is_drawn_beside_them() -> None:
    infos = {"a.jpg": ImageInfo("x", 1, 1), "b.jpg": ImageInfo("y", 1, 1)}
    items = [Item("a", "a.jpg", split="test"), Item("b", "b.jpg")]
    collection = assemble(Reading("flickr8k", items, has_splits=True), infos, AS_GIVEN)
    assert [image.split for image in collection.images] == ["test", None]
    assert [(problem.kind, problem.item) for problem in collection.problems] == [("no-split", "b")]
