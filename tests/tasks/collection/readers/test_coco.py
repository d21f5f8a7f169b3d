import io
import json
from typing import Any

import pytest

from tasks.collection.assemble import Collection
from tasks.collection.config import CollectionConfig
from tasks.collection.formats import read_collection
from tasks.collection.readers.coco import Coco
from tasks.collection.records import Files, Problem
from tasks.errors import InputError
from tests.tasks.collection.making import captions, collect, files_of, kinds, pictures


def dataset(names: dict[Any, Any], texts: list[tuple[Any, Any]]) -> str:
    return json.dumps(
        {
            "info": {},
            "images": [{"id": image_id, "file_name": name} for image_id, name in names.items()],
            "annotations": [{"image_id": image_id, "caption": text} for image_id, text in texts],
        }
    )


BASIC = dataset({139: "a.jpg", 2**60 + 1: "b.jpg"}, [(139, " A dog .\n"), (2**60 + 1, "A cat ."), (139, "Again .")])


@pytest.mark.parametrize("folder", ["", "images/", "val2017/"])
@pytest.mark.parametrize("source", ["captions.json", "annotations/captions_val2017.json", "dataset.json"])
def test_ids_are_the_datasets_own_and_captions_join_by_them(folder: str, source: str) -> None:
    files = files_of({source: BASIC, "sources.json": "{}", **pictures(f"{folder}a.jpg", f"{folder}b.jpg")})
    collection = collect(files)
    assert collection.format == "coco"
    assert captions(collection) == {"1152921504606846977": ("A cat .",), "139": ("A dog .", "Again .")}
    assert {image.path for image in collection.images} == {f"{folder}a.jpg", f"{folder}b.jpg"}
    assert collection.problems == ()
    assert {image.split for image in collection.images} <= {"train", "validation", "test"}


def test_json_may_be_utf16() -> None:
    collection = collect(files_of({"data.json": BASIC.encode("utf-16"), **pictures("a.jpg", "b.jpg")}))
    assert captions(collection) == {"1152921504606846977": ("A cat .",), "139": ("A dog .", "Again .")}
    assert kinds(collection) == {"encoding-fallback": 1}


def test_images_may_lie_under_another_root() -> None:
    reading = read_collection(files_of({"captions.json": BASIC}), files_of(pictures("x/a.jpg", "x/b.jpg")))
    assert [item.path for item in reading.items] == ["x/a.jpg", "x/b.jpg"]


def two_files(train: str, validation: str) -> Collection:
    """Captions of two splits, whose images are train2017/a.jpg, val2017/b.jpg and val2017/c.jpg."""
    return collect(
        files_of(
            {
                "annotations/captions_train2017.json": train,
                "annotations/captions_val2017.json": validation,
                "annotations/instances_val2017.json": '{"images": [], "annotations": [], "categories": []}',
                **pictures("train2017/a.jpg", "val2017/b.jpg", "val2017/c.jpg"),
            }
        )
    )


def test_files_of_two_splits_bring_them() -> None:
    validation = dataset({1: "b.jpg", 2: "c.jpg"}, [(1, "A cat ."), (2, "A cow .")])
    collection = two_files(dataset({3: "a.jpg"}, [(3, "A dog .")]), validation)
    splits = {image.image_id: image.split for image in collection.images}
    assert (splits["1"], splits["2"], splits["3"] in ("train", "test")) == ("validation", "validation", True)
    assert captions(collection) == {"1": ("A cat .",), "2": ("A cow .",), "3": ("A dog .",)}
    assert kinds(collection) == {"drawn-split": 1}


def test_files_that_number_their_images_anew_lose_and_mix_nothing() -> None:
    validation = dataset({1: "b.jpg", 2: "c.jpg"}, [(1, "A cat ."), (2, "A cow .")])
    collection = two_files(dataset({"01": "a.jpg"}, [(1, "A dog .")]), validation)
    assert captions(collection) == {"01": ("A dog .",), "2": ("A cow .",), "val2017/b.jpg": ("A cat .",)}
    assert [problem.detail for problem in collection.problems if problem.kind == "shared-id"] == [
        "annotations/captions_val2017.json uses the id 1 as annotations/captions_train2017.json does; "
        "this image is identified by its path"
    ]


def test_an_image_that_two_files_list_is_one_and_both_are_named() -> None:
    both = dataset({1: "train2017/a.jpg"}, [(1, "A dog .")])
    collection = two_files(both, both)
    assert captions(collection)["1"] == ("A dog .",)
    assert [problem.detail for problem in collection.refused] == [
        "annotations/captions_val2017.json lists this id, but so does annotations/captions_train2017.json; "
        "the first entry is used; captions not used: 1"
    ]


@pytest.mark.parametrize("written", ["3", "3.0", '"3"', '"000000000003"'])
@pytest.mark.parametrize("listed", ["3", "3.0", '"000000000003"'])
def test_an_id_is_one_however_it_is_written(listed: str, written: str) -> None:
    text = (
        f'{{"images": [{{"id": {listed}, "file_name": "a.jpg"}}],'
        f'"annotations": [{{"image_id": {written}, "caption": "A dog ."}}]}}'
    )
    collection = collect(files_of({"captions.json": text, **pictures("a.jpg")}))
    assert [image.captions for image in collection.images] == [("A dog .",)]
    assert collection.problems == ()


def test_what_does_not_fit_is_told_and_the_rest_stays() -> None:
    names = {1: "a.jpg", 2: "gone.jpg", 3: None, 4: "../../etc/passwd"}
    texts = [(1, "A dog ."), (1, ""), (1, None), (2, "Gone ."), (9, "Whose?"), (9, "Whose?"), (True, "x")]
    collection = collect(files_of({"captions.json": dataset(names, texts), **pictures("i/a.jpg", "i/other.png")}))
    assert captions(collection) == {"1": ("A dog .",), "i/other.png": ()}
    assert kinds(collection) == {
        "bad-row": 3,
        "empty-caption": 1,
        "missing-image": 1,
        "no-caption": 1,
        "outside-collection": 1,
        "unknown-image": 1,
    }
    detail = "captions.json lists no image with this id; captions not used: 2"
    assert Problem("unknown-image", "9", detail) in collection.problems
    assert collection.listed == len(collection.images) + len(collection.refused) == 4


def test_two_entries_of_one_id_shift_no_caption() -> None:
    text = (
        '{"images": [{"id": 1, "file_name": "a.jpg"}, {"id": "1", "file_name": "b.jpg"}],'
        '"annotations": [{"image_id": 1, "caption": "A dog ."}]}'
    )
    collection = collect(files_of({"captions.json": text, **pictures("a.jpg", "b.jpg")}))
    assert [(image.image_id, image.path, image.captions) for image in collection.images] == [
        ("1", "a.jpg", ("A dog .",))
    ]
    assert collection.problems == (Problem("duplicate-id", "1", "this id was listed earlier; the first entry is used"),)


@pytest.mark.parametrize(
    "content", [BASIC[:-20], '{"images": []}', '{"images": {}, "annotations": []}', '{"images": ' + "[" * 9999]
)
def test_what_is_no_captions_file_is_one_sentence(content: str) -> None:
    files = files_of({"captions.json": content, **pictures("a.jpg")})
    with pytest.raises(InputError, match=r"^captions\.json .*\.$"):
        Coco().read(files, files, CollectionConfig())


def test_of_a_file_named_as_captions_the_beginning_is_enough() -> None:
    class Beginning(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            assert size is not None
            assert 0 < size < 2**17
            return super().read(size)

    files = Files(["annotations/captions_train2014.json"], lambda _: Beginning(BASIC.encode()))
    assert Coco().recognises(files)


def test_other_json_is_not_recognised() -> None:
    others = {
        "sources.json": "{}",
        "._captions.json": "",
        "captions.json": '{"a.jpg": "A dog ."}',
        "b/captions.json": "",
    }
    assert not Coco().recognises(files_of(others))
    with pytest.raises(InputError, match="No captions JSON"):
        Coco().read(files_of({}), files_of({}), CollectionConfig())


def test_a_file_named_as_captions_that_is_something_else_blocks_no_images() -> None:
    files = files_of({"captions.json": '{"version": 1, "entries": 7}', **pictures("a.jpg")})
    collection = collect(files)
    assert (collection.format, len(collection.images), kinds(collection)) == ("folder", 1, {"unused-file": 1})
