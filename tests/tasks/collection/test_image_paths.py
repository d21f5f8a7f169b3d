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
        ("A.JPG", "", "a.jpg"),
        ("SUB/C.Jpg", "", "sub/c.jpg"),
        ("a", "", "a.jpg"),
        (r"SUB\c", "./", "sub/c.jpg"),
        (" a.jpg ", "", "a.jpg"),
        (r" .\SUB\c", "", "sub/c.jpg"),
        ("%61.jpg", "", "a.jpg"),
        ("100%.jpg", "", "100%.jpg"),
        ("se%C3%B1al.jpg", "", NFD),
        ("notes", "", "notes"),  # no image
        ("../../x.jpg", "sub", "../x.jpg"),
        ("/a.jpg", "sub", "/a.jpg"),
    ],
)
def test_find(name: str, folder: str, path: str) -> None:
    paths = ImagePaths(["a.jpg", "sub/c.jpg", r"back\slash.jpg", NFD, "notes.txt"])
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
        (["x/d e.jpg"], "x/"),
        (["other.jpg"], ""),
        ([], ""),
    ],
)
def test_the_folder_of_most_names(paths: list[str], folder: str) -> None:
    assert ImagePaths(paths).folder_of({"a.jpg", " b.jpg", "sub/c.jpg", "d%20e.jpg"}) == folder


@pytest.mark.parametrize("name", ["A.JPG", "cat", "CAT.jpg"])
def test_a_name_that_fits_several_images_finds_none(name: str) -> None:
    paths = ImagePaths(["a.jpg", "a.JPG", "cat.jpg", "cat.png", "Cat.jpg"])
    assert paths.find(name) not in paths
    assert paths.inexact([Item(name, name)]) == []


def test_inexact_names_are_reported() -> None:
    paths = ImagePaths(["a.jpg", "b.jpg", "c.jpg", "d e.jpg"])
    items = [Item(name, paths.find(name)) for name in ("A.jpg", "b", "c.jpg", "d%20e.jpg ")]
    assert [(problem.item, problem.detail) for problem in paths.inexact(items)] == [
        ("a.jpg", "used for 'A.jpg', which does not exist"),
        ("b.jpg", "used for 'b', which does not exist"),
        ("d e.jpg", "used for 'd%20e.jpg ', which does not exist"),
    ]


@pytest.mark.parametrize(
    "names",
    [
        [r"img\beach\0.jpg", r"img\beach\1.jpg"],
        ["./img/beach/0.jpg", "./img/beach/1.jpg"],
        ["IMG/Beach/0.JPG", "IMG/Beach/1.JPG"],
        ["img/beach/0", "img/beach/1"],
    ],
)
def test_the_folder_is_found_however_names_are_written(names: list[str]) -> None:
    paths = ImagePaths(["archive/img/beach/0.jpg", "archive/img/beach/1.jpg", "beach/0.jpg"])
    assert paths.folder_of(names) == "archive/"
    assert [paths.find(name, "archive/") for name in names] == ["archive/img/beach/0.jpg", "archive/img/beach/1.jpg"]


def test_a_folder_with_the_exact_names_is_preferred() -> None:
    assert ImagePaths(["A/A.JPG", "B/a.jpg"]).folder_of(["a.jpg"]) == "B/"


def test_unlisted_images() -> None:
    paths = ImagePaths(["a.jpg", "b.jpg", "notes.txt"])
    assert paths.unlisted([Item("1", "a.jpg")]) == [Item("b.jpg", "b.jpg")]
