import pytest

from tasks.collection.config import CollectionConfig
from tasks.collection.readers.flickr30k import Flickr30k
from tasks.collection.records import Problem
from tasks.errors import InputError
from tests.tasks.collection.making import captions, collect, files_of, kinds, pictures

HEADER = "image_name| comment_number| comment\n"
TABLE = HEADER + "1.jpg| 0| A dog .\n1.jpg| 1| A brown dog .\n2.jpg| 0| A cat .\n"
TOKENS = "1.jpg#0\tA dog .\n1.jpg#1\tA brown dog .\n2.jpg#0\tA cat .\n"


@pytest.mark.parametrize("folder", ["flickr30k_images/", "flickr30k-images/", "flickr30k_images/flickr30k_images/", ""])
@pytest.mark.parametrize(
    ("source", "content"),
    [
        ("results.csv", TABLE),
        ("flickr30k_images/results.csv", "\ufeff" + TABLE.replace("| ", "|").replace("\n", "\r\n")),
        ("results_20130124.token", TOKENS),
        ("deep/results_20130124.token", TOKENS),
    ],
)
def test_table_or_token_lines_and_images_in_any_one_folder(source: str, content: str, folder: str) -> None:
    collection = collect(files_of({source: content, **pictures(f"{folder}1.jpg", f"{folder}2.jpg")}))
    assert collection.format == "flickr30k"
    assert captions(collection) == {f"{folder}1.jpg": ("A dog .", "A brown dog ."), f"{folder}2.jpg": ("A cat .",)}
    assert "bad-row" not in kinds(collection)


def test_a_missing_pipe_is_repaired_and_told_and_other_pipes_and_quotes_are_text() -> None:
    rows = [
        '1.jpg| 0| "A sign says stop .',
        "1.jpg| 1| None",
        "1.jpg| 2|NA",
        "1.jpg| 3   Two men walk .",
        "1.jpg| 4\tA red | white flag .",
        "2.jpg| 0| A red | white flag .",
        "2.jpg| 1| ",
        "2.jpg| A dog .",
        "no pipe",
        "| 0| nobody",
        "2.jpg| 12| 'It''s' \u2028 \"5\" .",
    ]
    collection = collect(files_of({"results.csv": HEADER + "\n".join(rows), **pictures("1.jpg", "2.jpg")}))
    assert captions(collection) == {
        "1.jpg": ('"A sign says stop .', "None", "NA", "Two men walk .", "A red | white flag ."),
        "2.jpg": ("A red | white flag .", "'It''s' \u2028 \"5\" ."),
    }
    repaired = "the second pipe is missing; the text after the number is read as the caption"
    bad = "the line is not image_name|comment_number|comment and is skipped"
    assert [problem for problem in collection.problems if problem.kind != "near-duplicate"] == [
        *(Problem("bad-row", "results.csv", bad, line) for line in (9, 10, 11)),
        Problem("empty-caption", "2.jpg", "an empty caption is ignored", 8),
        *(Problem("repaired-row", "results.csv", repaired, line) for line in (5, 6)),
    ]


def test_long_lines_of_blanks_are_no_hang() -> None:
    table = HEADER + "1.jpg" + " " * 200_000 + "\n1.jpg| " + " " * 200_000 + "x\n1.jpg| 1" + " " * 200_000 + "|A dog ."
    collection = collect(files_of({"results.csv": table, **pictures("1.jpg")}))
    assert captions(collection) == {"1.jpg": ("A dog .",)}
    assert kinds(collection) == {"bad-row": 2}


@pytest.mark.parametrize("ending", ["", ".jpg"])
def test_lists_of_names_are_its_own_splits(ending: str) -> None:
    contents: dict[str, str | bytes] = {
        "results.csv": TABLE + "3.jpg| 0| A cow .\n4.jpg| 0| A duck .",
        "train.txt": f"1{ending}\r\n3{ending}\r\n",
        "test.txt": f"2{ending}\n1{ending}",
        **pictures("i/1.jpg", "i/2.jpg", "i/3.jpg", "i/4.jpg"),
    }
    collection = collect(files_of(contents))
    assert {image.image_id: image.split for image in collection.images} == {
        **{"i/1.jpg": "train", "i/3.jpg": "train", "i/2.jpg": "test", "i/4.jpg": None},
    }
    told = kinds(collection)
    assert (told["duplicate-split"], told["no-split"]) == (1, 1)


@pytest.mark.parametrize(
    "lists", [{"train.txt": "1\n9", "val.txt": "2"}, {"train.txt": "1", "val.txt": "Some notes .\n"}]
)
def test_lists_with_other_lines_are_told_and_not_used(lists: dict[str, str]) -> None:
    files = files_of({"results.csv": TABLE, **lists, **pictures("1.jpg", "2.jpg")})
    reading = Flickr30k().read(files, files, CollectionConfig())
    assert not reading.has_splits
    assert [(problem.kind, problem.item) for problem in reading.problems] == [
        ("unused-file", "train.txt"),
        ("unused-file", "val.txt"),
    ]


def test_one_list_alone_leaves_the_split_to_be_drawn() -> None:
    files = files_of({"results.csv": TABLE, "train.txt": "1\n2", **pictures("1.jpg", "2.jpg")})
    assert not Flickr30k().read(files, files, CollectionConfig()).has_splits


def test_token_lines_are_read_where_a_table_lies_beside_them() -> None:
    table = HEADER + "1.jpg| 0| From the table"
    files = files_of({"results_20130124.token": TOKENS, "results.csv": table, **pictures("1.jpg", "2.jpg")})
    collection = collect(files)
    assert captions(collection)["1.jpg"] == ("A dog .", "A brown dog .")
    told = [(problem.kind, problem.item) for problem in collection.problems if problem.kind == "unused-file"]
    assert told == [("unused-file", "results.csv")]


@pytest.mark.parametrize(
    "contents", [{"results.csv": "name,score\na,1\n"}, {"results.csv": ""}, {"captions.csv": TABLE}]
)
def test_other_results_are_no_captions(contents: dict[str, str]) -> None:
    files = files_of({**contents, **pictures("1.jpg")})
    assert not Flickr30k().recognises(files)
    with pytest.raises(InputError, match=r"neither results_20130124\.token nor a results\.csv"):
        Flickr30k().read(files, files, CollectionConfig())


def test_a_piped_table_is_found_by_content() -> None:
    files = files_of({"captions.txt": "image_name| comment_number| comment\na.jpg| 0| A dog .\n", **pictures("a.jpg")})
    collection = collect(files)
    assert (collection.format, captions(collection)) == ("flickr30k", {"a.jpg": ("A dog .",)})
