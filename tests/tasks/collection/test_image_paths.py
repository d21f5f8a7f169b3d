import unicodedata

import pytest

from tasks.collection.image_paths import ImagePaths
from tasks.collection.records import Item

NFD = unicodedata.normalize("NFD", "señal.jpg")


@pytest.mark.parametrize(
    ("name", "folder", "path"),
    [
        ("a.jpg", "", "a.jpg"),
        ("./x/../a.jpg", "", "a.jpg"),
        ("c.jpg", "sub", "sub/c.jpg"),
        ("../a.jpg", "sub/", "a.jpg"),
        (r"sub\c.jpg", "", "sub/c.jpg"),
        (r"back\slash.jpg", "", r"back\slash.jpg"),
        ("señal.jpg", "", NFD),
        ("a.jpg.1", "", "a.jpg.1"),
        ("A.JPG", "", "A.JPG"),
        ("../../x.jpg", "sub", "../x.jpg"),
        ("/a.jpg", "sub", "/a.jpg"),
    ],
)
def test_find(name: str, folder: str, path: str) -> None:
    paths = ImagePaths(["a.jpg", "sub/c.jpg", r"back\slash.jpg", NFD])
    assert paths.find(name, folder) == path


def test_of_two_spellings_on_disk_each_is_found_by_its_own_name_only() -> None:
    nfc, nfd, mixed = (
        "ñ/ñ.jpg",
        unicodedata.normalize("NFD", "ñ/ñ.jpg"),
        "ñ/" + unicodedata.normalize("NFD", "ñ.jpg"),
    )
    paths = ImagePaths([nfc, nfd])
    assert paths.find(nfc) == nfc
    assert paths.find(nfd) == nfd
    assert paths.find(mixed) not in paths


@pytest.mark.parametrize(
    ("paths", "folder"),
    [
        (["Images/a.jpg", "Images/b.jpg", "thumbs/a.jpg"], "Images/"),
        (["a.jpg", "b.jpg", "copy/a.jpg"], ""),
        (["x/y/sub/c.jpg"], "x/y/"),
        (["b/a.jpg", "a/a.jpg"], "a/"),
        (["other.jpg"], ""),
        ([], ""),
    ],
)
def test_the_folder_of_most_names(paths: list[str], folder: str) -> None:
    assert ImagePaths(paths).folder_of({"a.jpg", "b.jpg", "sub/c.jpg"}) == folder


def test_unlisted_images() -> None:
    paths = ImagePaths(["a.jpg", "b.jpg", "notes.txt"])
    assert paths.unlisted([Item("1", "a.jpg")]) == [Item("b.jpg", "b.jpg")]
