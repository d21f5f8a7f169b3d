import json
from typing import Any

import pytest

from tasks.collection.config import CollectionConfig
from tasks.collection.readers.karpathy import Karpathy
from tasks.errors import InputError
from tests.tasks.collection.making import captions, collect, files_of, kinds, pictures


def entry(name: str, split: str, *texts: str, **others: Any) -> dict[str, Any]:
    sentences = [{"tokens": text.lower().split(), "raw": text} for text in texts]
    return {"filename": name, "split": split, "sentences": sentences, **others}


def dataset(*entries: Any) -> str:
    return json.dumps({"images": entries, "dataset": "coco"})


def test_sentences_and_splits_with_restval_as_train() -> None:
    text = dataset(
        entry("a.jpg", "train", "A dog .", "Again .", filepath="train2014"),
        entry("b.jpg", "restval", "A cat .", filepath="val2014", cocoid=7),
        entry("c.jpg", "val", "A cow .", filepath="train2014"),
        entry("d.jpg", "test", "A pig ."),  # by its name alone
    )
    names = ("train2014/a.jpg", "val2014/b.jpg", "train2014/c.jpg", "d.jpg", "e.jpg")
    for place in ("dataset_coco.json", "annotations/dataset.json"):
        collection = collect(files_of({place: text, "captions.json": dataset(), **pictures(*names)}), "karpathy")
        assert captions(collection) == {
            "d.jpg": ("A pig .",),
            "e.jpg": (),
            "train2014/a.jpg": ("A dog .", "Again ."),
            "train2014/c.jpg": ("A cow .",),
            "val2014/b.jpg": ("A cat .",),
        }
        splits = [image.split for image in collection.images]
        assert splits == ["test", None, "train", "validation", "train"]


def test_images_may_lie_in_one_folder_without_their_paths() -> None:
    text = dataset(entry("a.jpg", "train", "A dog .", filepath="val2014"), entry("b.jpg", "val", "A cat ."))
    collection = collect(files_of({"dataset.json": text, **pictures("images/a.jpg", "images/b.jpg")}))
    assert captions(collection) == {"images/a.jpg": ("A dog .",), "images/b.jpg": ("A cat .",)}


def test_it_is_detected_by_content() -> None:
    files = files_of({"anything.json": dataset(entry("a.jpg", "train", "A dog .")), **pictures("a.jpg")})
    assert collect(files).format == "karpathy"
    assert not Karpathy().recognises(files_of({"captions.json": '{"images": [], "annotations": []}'}))
    with pytest.raises(InputError, match="No JSON of images"):
        Karpathy().read(files_of({}), files_of({}), CollectionConfig())


def test_what_does_not_fit_is_reported() -> None:
    text = dataset(entry("a.jpg", "train", "A dog ."), {"filename": "b.jpg"}, 3, entry("gone.jpg", "train", "x"))
    collection = collect(files_of({"dataset.json": text, **pictures("a.jpg")}))
    assert captions(collection) == {"a.jpg": ("A dog .",)}
    assert kinds(collection) == {"bad-row": 2, "missing-image": 1}


@pytest.mark.parametrize("end", [-5, None])
def test_a_damaged_file_is_one_sentence(end: int | None) -> None:
    text = dataset(entry("a.jpg", "train", "A dog ."))[:end]
    content = text if end else text.replace('"images": [', '"others": [').replace('"dataset"', '"images"')
    files = files_of({"dataset.json": content, **pictures("a.jpg")})
    with pytest.raises(InputError, match=r"^dataset\.json .*\.$"):
        Karpathy().read(files, files, CollectionConfig())
