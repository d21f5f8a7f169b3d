import json

import pytest

from tasks.collection.config import CollectionConfig
from tasks.collection.readers.takeout import Takeout
from tasks.errors import InputError
from tests.tasks.collection.making import captions, collect, files_of, kinds, pictures

HOME = "Takeout/Google Photos/Photos from 2019/"


def metadata(title: str, description: str) -> str:
    return json.dumps({"title": title, "description": description, "photoTakenTime": {"timestamp": "1600000000"}})


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("IMG_1.jpg", "IMG_1.jpg.json"),
        ("IMG_1.jpg", "IMG_1.jpg.supplemental-metadata.json"),
        ("IMG_1.jpg", "IMG_1.jpg.supplemental-me.json"),
        ("IMG_1(1).jpg", "IMG_1.jpg(1).json"),
        ("IMG_1(1).jpg", "IMG_1.jpg.supplemental-metadata(1).json"),
        ("IMG_1.jpg", "cut name.json"),
    ],
)
def test_descriptions_are_captions_however_the_file_is_named(image: str, name: str) -> None:
    files = files_of(
        {
            HOME + name: metadata("IMG_1.jpg", "A dog ."),
            f"{HOME}metadata.json": json.dumps({"title": "Photos from 2019", "description": ""}),
            f"{HOME}b.jpg.json": metadata("b.jpg", ""),
            "Takeout/archive_browser.html": "<html>",
            **pictures(HOME + image, f"{HOME}b.jpg"),
        }
    )
    collection = collect(files)
    assert collection.format == "google-takeout"
    assert captions(collection) == {HOME + image: ("A dog .",), f"{HOME}b.jpg": ()}
    assert kinds(collection) == {"no-caption": 1}


def test_other_json_next_to_images_is_not_takeout() -> None:
    files = files_of({"a.json": '{"title": "a.jpg", "description": "A dog ."}', **pictures("a.jpg")})
    assert not Takeout().recognises(files)
    with pytest.raises(InputError, match="No image has a JSON file"):
        Takeout().read(files_of(pictures("a.jpg")), files, CollectionConfig())


def test_a_damaged_file_costs_no_other() -> None:
    files = files_of(
        {"a.jpg.json": metadata("a.jpg", "A dog ."), "b.jpg.json": '{"title', **pictures("a.jpg", "b.jpg")}
    )
    collection = collect(files)
    assert captions(collection)["a.jpg"] == ("A dog .",)
    assert kinds(collection) == {"no-caption": 1, "unreadable-file": 1}
