import json
from collections.abc import Mapping

import pytest

from tasks.collection.check import describe
from tasks.collection.config import CollectionConfig
from tasks.collection.gather import gather
from tasks.collection.image_paths import ImagePaths
from tasks.collection.listed_names import find_names
from tasks.collection.records import Problem
from tests.tasks.collection.making import captions, files_of, kinds, pictures, silent

ARCHIVE = ["1958/a.jpg", "1958/b.jpg", "1974/Fest/c.jpg", "1974/Fest/d.JPG", "1974/x.jpg", "1981/x.jpg", "notes.txt"]


def found(
    names: list[str], images: list[str] = ARCHIVE, folder: str | None = None
) -> tuple[list[str | None], list[tuple[str, str]]]:
    """The path of each name, None if it is no file, and kinds and details of what is reported."""
    paths, problems = ImagePaths(images), list[Problem]()
    path_of = find_names(names, "t.csv", paths, problems, folder)
    assert all(problem.item == "t.csv" for problem in problems)
    return (
        [path_of[name] if path_of[name] in paths else None for name in names],
        [(problem.kind, problem.detail) for problem in problems],
    )


def test_a_name_without_folder_is_used_for_the_only_image_of_that_name() -> None:
    assert found(["a.jpg", "c.jpg", "D.jpg", "x.jpg", "gone.jpg", "b"]) == (
        ["1958/a.jpg", "1974/Fest/c.jpg", "1974/Fest/d.JPG", None, None, "1958/b.jpg"],
        [
            (
                "no-folder",
                "4 names lack the folder; each is used for the only image of that name, such as 1958/a.jpg",
            )
        ],
    )


def test_missing_and_ambiguous_names_get_no_folder() -> None:
    names = ["a.jpg", "c.jpg", "x.jpg", "gone.jpg"]
    assert list(find_names(names, "t.csv", ImagePaths(ARCHIVE), []).values())[2:] == ["x.jpg", "gone.jpg"]


def test_names_are_relative_to_the_folder_that_has_nearly_all() -> None:
    names = [f"{number}.jpg" for number in range(20)]
    images = [f"Images/{name}" for name in names] + ["thumbs/0.jpg", "extra/only.jpg"]
    assert found([*names, "only.jpg"], images) == (
        [*(f"Images/{name}" for name in names), "extra/only.jpg"],
        [("no-folder", "1 name lacks the folder; used for the only image of that name: extra/only.jpg")],
    )
    assert found(names[:8], [*images[:4], *(f"other/{name}" for name in names[4:8]), "other/0.jpg"])[0][0] is None


def test_names_may_lack_their_first_folders_unless_their_folder_exists() -> None:
    paths, problems = found(["1958/a.jpg", "1958/b.jpg", "Fest/c.jpg", "1981/d.JPG"], [*ARCHIVE, "copy/1981/d.JPG"])
    assert paths == ["1958/a.jpg", "1958/b.jpg", "1974/Fest/c.jpg", None]
    assert problems == [
        (
            "no-folder",
            "1 name lacks the first folders; used for the only image whose path ends so: 1974/Fest/c.jpg",
        )
    ]


@pytest.mark.parametrize(
    ("prefix", "told"),
    [
        ("D:\\Fotoarchiv\\", "D:/Fotoarchiv/"),
        ("/Volumes/Foto Archiv/", "/Volumes/Foto Archiv/"),
        ("//server/share/", "//server/share/"),
        ("Archiv/", "Archiv/"),
        ("file:///home/me/", "file:/home/me/"),
    ],
)
@pytest.mark.parametrize("folder", ["", "neu/"])
def test_a_beginning_that_all_names_share_is_ignored(prefix: str, told: str, folder: str) -> None:
    names = [prefix + name for name in ("1958/a.jpg", "1974/Fest/c.jpg", "1974/x.jpg", "1981/x.jpg", "1981/gone.jpg")]
    if "\\" in prefix:
        names = [name.replace("/", "\\") for name in names]
    expected = ["1958/a.jpg", "1974/Fest/c.jpg", "1974/x.jpg", "1981/x.jpg"]
    paths, problems = found(names, [folder + path for path in ARCHIVE])
    assert paths == [*(folder + path for path in expected), None]
    assert problems == [("ignored-prefix", f"all names begin with {told}, which is ignored")]


def test_a_beginning_that_most_names_share_is_ignored() -> None:
    paths, problems = found(["1958/a.jpg", *(f"D:/Alt/{name}" for name in ("1958/b.jpg", "1974/x.jpg", "1981/x.jpg"))])
    assert paths == ["1958/a.jpg", "1958/b.jpg", "1974/x.jpg", "1981/x.jpg"]
    assert problems == [("ignored-prefix", "3 of 4 names begin with D:/Alt/, which is ignored")]


def test_names_that_are_left_without_a_folder_have_to_be_unique() -> None:
    images = ["1999/1.jpg", "1999/2.jpg", "2004/1.jpg", "2004/2.jpg", "2004/3.jpg"]
    paths, problems = found(["Lager/1.jpg", "Lager/2.jpg", "Lager/3.jpg"], images)
    assert paths == [None, None, "2004/3.jpg"]
    assert [kind for kind, _ in problems] == ["ignored-prefix", "no-folder"]


@pytest.mark.parametrize(
    "names",
    [
        ["../1958/a.jpg", "../1958/b.jpg"],
        ["../../a.jpg", "..\\..\\b.jpg"],
        ["/etc/a.jpg", "1958/b.jpg"],
        ["1958/c.jpg", "1958/x.jpg"],  # the folder exists, so they were deleted
        ["D:/1958/gone.jpg", "D:/1958/lost.jpg"],
    ],
)
def test_no_other_file_is_taken_for_a_name(names: list[str]) -> None:
    paths, problems = found(names)
    assert set(paths) <= {None, "1958/b.jpg"}
    assert problems == []


def test_a_folder_that_was_renamed_is_found_by_the_names_of_its_files() -> None:
    images = ["1958/a.jpg", *(f"2004/Lager (Juli)/{number}.jpg" for number in range(5)), "2011/7.jpg", "2011/8.jpg"]
    names = ["1958/a.jpg", *(f"2004/Lager/{number}.jpg" for number in (0, 1, 2, 9)), "2010/7.jpg"]
    renamed = "2004/Lager (Juli)/0.jpg", "2004/Lager (Juli)/1.jpg", "2004/Lager (Juli)/2.jpg"
    detail = (
        "3 names in 2004/Lager, which does not exist, are used for the images of the same names in 2004/Lager (Juli)"
    )
    assert found(names, images) == (["1958/a.jpg", *renamed, None, None], [("renamed-folder", detail)])


@pytest.mark.parametrize(
    ("folders", "others"),
    [
        (["2004/Lager"], ["2005/0.jpg", "2005/1.jpg", "2006/1.jpg"]),  # two folders
        (["2004/Lager"], ["2005/0.jpg"]),  # fewer than half
        (["2004/Lager"], ["2005/0.jpg", "2005/1.jpg", "2004/Lager/x.jpg"]),  # the folder exists
        (["2004/Lager"], []),  # those in 1958 belong to other names
        (["2004/Lager", "2006"], ["2005/0.jpg", "2005/1.jpg"]),  # two folders for one
        (["2004/Lager"], ["2005/0.jpg", "2005/0.JPG", "2005/1.jpg", "2005/1.JPG"]),
    ],
)
def test_a_folder_counts_as_renamed_only_if_nothing_else_fits(folders: list[str], others: list[str]) -> None:
    own = ["1958/0.jpg", "1958/1.jpg", "1958/2.jpg"]
    names = [f"{folder}/{number}.jpg" for folder in folders for number in range(3)]
    paths, problems = found([*own, *names], [*own, *others])
    assert paths == [*own, *[None] * len(names)]
    assert problems == []


def test_names_relative_to_a_given_folder_stay_below_it() -> None:
    images = ["train/a.jpg", "train/deep/b.jpg", "test/c.jpg"]
    assert found(["a.jpg", "b.jpg", "c.jpg"], images, "train")[0] == ["train/a.jpg", "train/deep/b.jpg", None]


SPREAD = {"x/a.jpg": "A dog .", "y/b.jpg": "A cat .", "y/deep/c.jpg": "A cow ."}
NAMED = {path.rpartition("/")[2]: caption for path, caption in SPREAD.items()}
ROWS = "".join(f"{name},{caption}\n" for name, caption in NAMED.items())
COCO = {
    "images": [{"id": name, "file_name": name} for name in NAMED],
    "annotations": [{"image_id": name, "caption": caption} for name, caption in NAMED.items()],
}
KARPATHY = {"images": [{"filename": name, "sentences": [{"raw": caption}]} for name, caption in NAMED.items()]}
VISUAL_GENOME = {
    "image_data.json": json.dumps([{"image_id": name, "url": f"http://v/{name}"} for name in NAMED]),
    "region_descriptions.json": json.dumps(
        [{"id": name, "regions": [{"phrase": caption}]} for name, caption in NAMED.items()]
    ),
}


@pytest.mark.parametrize(
    "contents",
    [
        {"t.csv": "image,caption\n" + ROWS},
        {"t.jsonl": "".join(json.dumps({"image": name, "text": text}) + "\n" for name, text in NAMED.items())},
        {"metadata.csv": "file_name,text\n" + ROWS},
        {"captions.json": json.dumps(COCO)},
        {"dataset.json": json.dumps(KARPATHY)},
        {"Flickr8k.token.txt": "".join(f"{name}#0\t{caption}\n" for name, caption in NAMED.items())},
        {"captions.txt": "image,caption\n" + ROWS},
        {"results.csv": "image_name| n| c\n" + "".join(f"{name}| 0| {text}\n" for name, text in NAMED.items())},
        VISUAL_GENOME,
    ],
    ids=lambda contents: next(iter(contents)),
)
def test_every_format_finds_names_without_folder_and_refuses_ambiguous_ones(contents: Mapping[str, str]) -> None:
    files = files_of({**contents, **pictures(*SPREAD)})
    collection = gather(files, files, None, CollectionConfig(), workers=1, progress=silent)
    assert {image.path: image.captions for image in collection.images} == {
        path: (caption,) for path, caption in SPREAD.items()
    }
    assert (collection.listed, kinds(collection)) == (3, {"no-folder": 1})
    files = files_of({**contents, **pictures(*SPREAD, "z/a.jpg")})
    collection = gather(files, files, None, CollectionConfig(), workers=1, progress=silent)
    assert sum(map(bool, captions(collection).values())) == 2
    assert ": 4 images listed, 4 usable, 2 with captions " in describe(collection)
    assert [(problem.kind, problem.item, problem.detail) for problem in collection.refused] == [
        (
            "ambiguous-name",
            "a.jpg",
            "several images have this name (x/a.jpg, z/a.jpg); add the folder to the name; captions not used: 1",
        )
    ]
