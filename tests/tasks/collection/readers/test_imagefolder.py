import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.collection.config import CollectionConfig
from tasks.collection.formats import read_collection
from tasks.collection.readers.imagefolder import ImageFolder
from tasks.collection.records import Problem
from tasks.errors import InputError
from tests.tasks.collection.making import captions, collect, files_of, kinds, pictures


def jsonl(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def parquet(**columns: list[object]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "metadata.jsonl",
            jsonl({"file_name": "a.jpg", "text": "A dog ."}, {"file_name": "b.jpg", "text": "A cat ."}),
        ),
        ("metadata.csv", "file_name,caption\na.jpg,A dog .\nb.jpg,A cat .\n"),
        ("metadata.csv", "file_name;caption;\r\na.jpg;A dog .;\r\nb.jpg;A cat .;\r\n"),
        ("metadata.parquet", parquet(file_name=["a.jpg", "b.jpg"], captions=[["A dog ."], ["A cat ."]])),
    ],
)
def test_each_kind_of_metadata(name: str, content: str | bytes) -> None:
    collection = collect(files_of({name: content, **pictures("a.jpg", "b.jpg")}))
    assert collection.format == "imagefolder"
    assert captions(collection) == {"a.jpg": ("A dog .",), "b.jpg": ("A cat .",)}
    assert collection.problems == ()


def test_lists_nulls_and_repeated_rows_are_the_captions_of_one_image() -> None:
    metadata = jsonl(
        {"file_name": "a.jpg", "text": ["One .", None, "Two ."]},
        {"file_name": "b.jpg", "text": None},
        {"file_name": "./a.jpg", "text": "Three ."},
        {"file_name": "c.jpg", "text": 12},
    )
    collection = collect(files_of({"metadata.jsonl": metadata, **pictures("a.jpg", "b.jpg", "c.jpg")}))
    assert captions(collection) == {"a.jpg": ("One .", "Two .", "Three ."), "b.jpg": (), "c.jpg": ()}
    assert kinds(collection) == {"bad-row": 1, "no-caption": 2}


@pytest.mark.parametrize(
    ("folders", "splits"),
    [
        (("train", "validation", "test"), ["train", "validation", "test"]),
        (("training", "val", "testing"), ["train", "validation", "test"]),
        (("train", "dev"), ["train", "validation"]),
        (("Train", "Val"), ["train", "validation"]),
        (("train2017", "val2017"), ["train", "validation"]),
        (("train", "elsewhere", "test"), ["train", None, "test"]),
    ],
)
def test_split_folders_are_kept(folders: tuple[str, ...], splits: list[str | None]) -> None:
    contents = {f"{folder}/metadata.jsonl": jsonl({"file_name": "x.jpg", "text": folder}) for folder in folders}
    images = pictures(*(f"{folder}/x.jpg" for folder in folders))
    collection = collect(files_of({**contents, **images}))
    by_caption = {image.captions[0]: image.split for image in collection.images}
    assert [by_caption[folder] for folder in folders] == splits
    assert kinds(collection).get("no-split", 0) == splits.count(None)


def test_one_split_folder_alone_leaves_the_split_to_be_drawn() -> None:
    names = [f"{number}.jpg" for number in range(40)]
    metadata = jsonl(*({"file_name": name, "text": name} for name in names))
    files = files_of({"train/metadata.jsonl": metadata, **pictures(*(f"train/{name}" for name in names))})
    assert {image.split for image in collect(files).images} == {"train", "validation", "test"}


def test_paths_are_seen_from_the_metadata_file_and_stay_inside() -> None:
    metadata = jsonl(
        *(
            {"file_name": name, "text": name}
            for name in ["./a.jpg", r"sub\b.jpg", "../c.jpg", "../../out.jpg", "/etc/passwd.jpg", "gone.jpg"]
        )
    )
    files = files_of({"set/metadata.jsonl": metadata, **pictures("set/a.jpg", "set/sub/b.jpg", "c.jpg", "out.jpg")})
    collection = collect(files)
    assert captions(collection) == {
        "c.jpg": ("../c.jpg",),
        "out.jpg": (),
        "set/a.jpg": ("./a.jpg",),
        "set/sub/b.jpg": (r"sub\b.jpg",),
    }
    assert [(problem.kind, problem.item, problem.line) for problem in collection.problems] == [
        ("missing-image", "set/gone.jpg", 6),
        ("no-caption", "out.jpg", None),
        ("outside-collection", "../out.jpg", 4),
        ("outside-collection", "/etc/passwd.jpg", 5),
    ]


def test_broken_lines_are_told_with_their_numbers() -> None:
    metadata = '{"file_name": "a.jpg", "text": "brok\n\n[1]\n{"text": "x"}\n' + jsonl(
        {"file_name": "a.jpg", "text": "A dog ."}
    )
    collection = collect(files_of({"metadata.jsonl": metadata + "[" * 5000, **pictures("a.jpg")}))
    assert captions(collection) == {"a.jpg": ("A dog .",)}
    assert [(problem.kind, problem.line) for problem in collection.problems] == [
        ("bad-row", line) for line in (1, 3, 4, 6)
    ]


def test_of_two_metadata_files_in_a_folder_the_first_is_read_and_the_other_told() -> None:
    files = files_of(
        {
            "metadata.csv": "file_name,text\na.jpg,From the csv\n",
            "metadata.jsonl": jsonl({"file_name": "a.jpg", "text": "From the jsonl"}),
            **pictures("a.jpg"),
        }
    )
    collection = collect(files)
    assert captions(collection) == {"a.jpg": ("From the jsonl",)}
    detail = "ignored, since the folder has two metadata files and metadata.jsonl is read"
    assert collection.problems == (Problem("unused-file", "metadata.csv", detail),)


@pytest.mark.parametrize(
    ("header", "detail"),
    [
        ("file_name,text,caption", "captions are read from column caption, not from text"),
        (
            "file_name,label,description",
            "no captions are read: the file has no column caption, text or captions; "
            "set --caption-column to description or label",
        ),
    ],
)
def test_the_choice_of_the_caption_column_is_told(header: str, detail: str) -> None:
    collection = collect(files_of({"metadata.csv": f"{header}\na.jpg,other,chosen\n", **pictures("a.jpg")}))
    assert collection.problems == (Problem("caption-column", "metadata.csv", detail),)
    assert captions(collection) == {"a.jpg": ("chosen",) if "caption" in header else ()}


@pytest.mark.parametrize(
    ("column", "read", "detail"),
    [
        ("label", ("dog",), None),
        ("LABEL", ("dog",), None),
        ("labels", (), "no captions are read: the file has no column labels; set --caption-column to caption or label"),
    ],
)
def test_the_caption_column_may_be_named(column: str, read: tuple[str, ...], detail: str | None) -> None:
    files = files_of({"metadata.csv": "file_name,caption,label\na.jpg,A dog .,dog\n", **pictures("a.jpg")})
    reading = ImageFolder().read(files, files, CollectionConfig(caption_column=column))
    assert [item.captions for item in reading.items] == [read]
    assert [problem.detail for problem in reading.problems] == ([detail] if detail else [])


def test_the_image_column_may_be_named() -> None:
    files = files_of({"metadata.csv": "image,caption\na.jpg,A dog .\n", **pictures("a.jpg")})
    reading = ImageFolder().read(files, files, CollectionConfig(image_column="image"))
    assert [(item.path, item.captions) for item in reading.items] == [("a.jpg", ("A dog .",))]
    assert reading.problems == ()


def test_every_value_is_text() -> None:
    table = "file_name,text\n0007.jpg,NA\n7.jpg,1e5\nNA.jpg,null\n"
    collection = collect(files_of({"metadata.csv": table, **pictures("0007.jpg", "7.jpg", "NA.jpg")}))
    assert captions(collection) == {"0007.jpg": ("NA",), "7.jpg": ("1e5",), "NA.jpg": ("null",)}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("metadata.parquet", b"PAR1 but no more"),
        ("metadata.jsonl", jsonl({"image": "a.jpg"})),
        ("metadata.csv", "x,y\n1,2"),
        ("metadata.csv", ""),
        ("metadata.parquet", parquet(file_name=[b"\xff"], caption=[b"\xff"])),
    ],
)
def test_metadata_that_say_nothing_are_told_and_the_images_stay(name: str, content: str | bytes) -> None:
    collection = collect(files_of({name: content, **pictures("a.jpg")}))
    assert captions(collection) == {"a.jpg": ()}
    assert [(problem.kind, problem.item) for problem in collection.problems] == [("unused-file", name)]


def test_without_metadata_it_is_one_sentence() -> None:
    files = files_of({"._metadata.csv": "", **pictures("a.jpg")})
    assert not ImageFolder().recognises(files)
    with pytest.raises(InputError, match="No metadata file"):
        ImageFolder().read(files, files, CollectionConfig())


@pytest.mark.parametrize("name", ["metadata.csv", "catalogue.csv"])
def test_without_file_names_metadata_in_the_root_are_any_table(name: str) -> None:
    files = files_of({name: "inventory,filename,title,description\n1,a.jpg,x,A dog .\n", **pictures("a.jpg")})
    reading = read_collection(files, files)
    (problem,) = reading.problems
    assert (reading.format, problem.kind, "(title, description)" in problem.detail) == ("folder", "unused-file", True)
    assert "--caption-column" in problem.detail
    read = read_collection(files, files, None, CollectionConfig(caption_column="description"))
    assert (read.format, [item.captions for item in read.items]) == ("table", [("A dog .",)])


def test_in_a_folder_of_a_split_the_image_column_is_detected() -> None:
    files = files_of({"train/metadata.csv": "photo,caption\na.jpg,A dog .\n", **pictures("train/a.jpg")})
    assert captions(collect(files)) == {"train/a.jpg": ("A dog .",)}


def test_numbered_caption_columns_are_read_together() -> None:
    files = files_of({"metadata.csv": "file_name,text1,text2\na.jpg,One .,Two .\n", **pictures("a.jpg")})
    assert captions(collect(files)) == {"a.jpg": ("One .", "Two .")}
