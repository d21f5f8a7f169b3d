import pytest

from tasks.collection.config import CollectionConfig
from tasks.collection.readers.folder import Folder
from tasks.errors import InputError
from tests.tasks.collection.making import collect, files_of, pictures


def test_every_image_and_nothing_else() -> None:
    names = ["b.JPG", "a/same.png", "b/same.png", "-rf.jpg", "50%20off #1.webp", "pe\u00f1a.Jpeg"]
    others = {"notes.txt": "", "Thumbs.db": "", ".hidden.jpg": "", "__MACOSX/._b.jpg": "", "a/._same.png": ""}
    collection = collect(files_of({**pictures(*names), **others}))
    assert collection.format == "folder"
    assert [image.image_id for image in collection.images] == sorted(names)
    assert collection.problems == ()


def test_a_folder_without_images_is_one_sentence() -> None:
    files = files_of({"notes.txt": ""})
    assert not Folder().recognises(files)
    with pytest.raises(InputError, match="no images"):
        Folder().read(files, files, CollectionConfig())


def test_what_may_hold_captions_is_told() -> None:
    others = ["t.csv", "sub/U.TSV", "v.jsonl", "w.json", "x.parquet", "Captions.txt"]
    unasked = ["notes.txt", "._t.csv", "caption.jpg"]
    files = files_of({**pictures("a.jpg"), **dict.fromkeys([*others, *unasked], "a,b\n1,2\n")})
    reading = Folder().read(files, files, CollectionConfig())
    assert [(problem.kind, problem.item) for problem in reading.problems] == [
        ("unused-file", path) for path in sorted(others)
    ]
