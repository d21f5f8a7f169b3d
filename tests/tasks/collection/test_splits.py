from collections import Counter
from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from tasks.collection.assemble import Collection, assemble
from tasks.collection.config import CollectionConfig
from tasks.collection.image_info import ImageInfo
from tasks.collection.records import SPLITS, Item, Reading, Split
from tasks.collection.splits import draw_split

DIGESTS = st.dictionaries(st.text(min_size=1, max_size=3), st.integers(0, 20), max_size=20)


def splits(images: dict[str, int], seed: int) -> dict[str, str | None]:
    """Split by id of images whose bytes are these numbers."""
    infos = {path: ImageInfo(f"digest {content}", 1, 1) for path, content in images.items()}
    reading = Reading("folder", [Item(path, path) for path in images])
    return {image.image_id: image.split for image in assemble(reading, infos, CollectionConfig(split_seed=seed)).images}


@given(DIGESTS, DIGESTS, st.integers(0, 3))
def test_no_image_changes_side_because_others_came(some: dict[str, int], more: dict[str, int], seed: int) -> None:
    before, after = splits(some, seed), splits(more | some, seed)
    assert before.items() <= after.items()


@given(DIGESTS, st.integers(0, 3))
def test_byte_copies_share_a_side(images: dict[str, int], seed: int) -> None:
    drawn = splits(images, seed)
    assert len({(images[path], split) for path, split in drawn.items()}) == len({images[path] for path in drawn})


def test_shares_are_as_configured_and_the_seed_matters() -> None:
    config = CollectionConfig(validation_fraction=0.2, test_fraction=0.1)
    drawn = [draw_split(str(number), config) for number in range(5000)]
    counts = Counter(drawn)
    assert abs(counts["test"] - 500) < 80
    assert abs(counts["validation"] - 1000) < 110
    other = config.model_copy(update={"split_seed": 1})
    assert drawn != [draw_split(str(number), other) for number in range(5000)]


def test_the_split_is_fixed_for_ever() -> None:
    drawn = [draw_split(str(number), CollectionConfig()) for number in range(40)]
    assert [number for number, split in enumerate(drawn) if split == "validation"] == [
        4,
        6,
        14,
        25,
        34,
        35,
        36,
    ]
    assert [number for number, split in enumerate(drawn) if split == "test"] == [38]


def assembled(splits: Iterable[Split | None], **settings: float) -> Collection:
    """An image for each split that the collection brings, named after it."""
    items = [Item(f"{split} {number}", f"{number}.jpg", split=split) for number, split in enumerate(splits)]
    infos = {item.path: ImageInfo(item.path, 1, 1) for item in items}
    return assemble(Reading("imagefolder", items, has_splits=True), infos, CollectionConfig(**settings))


@given(st.lists(st.sampled_from(["train", "test", None]), max_size=60), st.floats(0.1, 0.5))
def test_a_missing_split_is_drawn_from_train_alone(own: list[Split | None], fraction: float) -> None:
    collection = assembled([*own, "train"], validation_fraction=fraction)
    became = {image.image_id: image.split for image in collection.images}
    missing = set(SPLITS) - {*own, "train"}
    for image_id, split in became.items():
        if image_id.startswith("train"):
            assert split in {"train", *missing}
        else:
            assert str(split) == image_id.split()[0]
    assert {problem.item for problem in collection.problems if problem.kind == "drawn-split"} == missing


def test_what_was_drawn_is_counted() -> None:
    collection = assembled(["train"] * 200 + ["test"] * 20)
    count = sum(image.split == "validation" for image in collection.images)
    assert 8 < count < 35
    assert [(problem.kind, problem.item, problem.detail) for problem in collection.problems] == [
        (
            "drawn-split",
            "validation",
            f"the collection has no validation split; {count} of its 200 training images were drawn for it",
        )
    ]


def test_without_train_nothing_is_drawn() -> None:
    collection = assembled(["validation", "test"])
    assert [image.split for image in collection.images] == ["test", "validation"]
    assert collection.problems == ()
