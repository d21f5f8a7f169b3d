import pytest

from tasks.collection.config import CollectionConfig
from tasks.collection.readers.flickr8k import Flickr8k
from tasks.collection.records import Problem
from tasks.errors import InputError
from tests.tasks.collection.making import captions, collect, files_of, kinds, pictures

TOKENS = "a.jpg#0\tA dog .\na.jpg#1\tA brown dog .\nb.jpg#0\tA cat .\n"


@pytest.mark.parametrize("folder", ["Images/", "Flicker8k_Dataset/", "deep/er/", ""])
def test_token_lines_and_images_in_any_one_folder(folder: str) -> None:
    collection = collect(files_of({"Flickr8k.token.txt": TOKENS, **pictures(f"{folder}a.jpg", f"{folder}b.jpg")}))
    assert collection.format == "flickr8k"
    assert captions(collection) == {
        f"{folder}a.jpg": ("A dog .", "A brown dog ."),
        f"{folder}b.jpg": ("A cat .",),
    }
    assert collection.problems == ()


def test_thumbnails_beside_the_images_take_no_captions() -> None:
    files = files_of({"Flickr8k.token.txt": TOKENS, **pictures("Images/a.jpg", "Images/b.jpg", "thumbs/a.jpg")})
    assert captions(collect(files))["thumbs/a.jpg"] == ()


def test_split_lists_are_kept_and_what_they_leave_out_is_told() -> None:
    files = files_of(
        {
            "Flickr8k.token.txt": TOKENS + "c.jpg#0\tA cow .\nd.jpg#0\tA duck .",
            "text/Flickr_8k.trainImages.txt": "a.jpg\r\na.jpg\r\nonly-listed.jpg",
            "text/Flickr_8k.devImages.txt": "b.jpg\n",
            "text/Flickr_8k.testImages.txt": "c.jpg\nb.jpg\n",
            **pictures("a.jpg", "b.jpg", "c.jpg", "d.jpg"),
        }
    )
    collection = collect(files)
    assert {image.image_id: image.split for image in collection.images} == {
        "a.jpg": "train",
        "b.jpg": "validation",
        "c.jpg": "test",
        "d.jpg": None,
    }
    assert kinds(collection) == {"duplicate-split": 2, "missing-image": 1, "no-split": 1}
    assert (
        Problem(
            "duplicate-split",
            "b.jpg",
            "listed again in text/Flickr_8k.testImages.txt; stays in validation",
            2,
        )
        in collection.problems
    )


def test_captions_without_image_are_refused_by_the_name_as_it_is_written() -> None:
    tokens = TOKENS + "".join(f"a.jpg.1#{number}\tNobody .\n" for number in range(5))
    collection = collect(files_of({"Flickr8k.token.txt": tokens, **pictures("Images/a.jpg", "Images/b.jpg")}))
    detail = "no such file: Images/a.jpg.1; captions not used: 5"
    assert collection.problems == (Problem("missing-image", "a.jpg.1", detail, 4),)
    assert (collection.listed, len(collection.refused)) == (3, 1)


def test_bad_lines_are_told_with_their_numbers_and_cost_no_other_line() -> None:
    tokens = 'image_id\tcaptions\na.jpg#0 no tab\na.jpg#1\tA dog, a "cat" | a #3\tbird\u2028.\na.jpg#2\t \n'
    collection = collect(files_of({"Flickr8k.token.txt": "\ufeff" + tokens.replace("\n", "\r\n"), **pictures("a.jpg")}))
    assert captions(collection) == {"a.jpg": ('A dog, a "cat" | a #3\tbird\u2028.',)}
    assert [(problem.kind, problem.item, problem.line) for problem in collection.problems] == [
        ("bad-row", "Flickr8k.token.txt", 1),
        ("bad-row", "Flickr8k.token.txt", 2),
        ("empty-caption", "a.jpg", 4),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_table_keeps_quoted_delimiters_quotes_and_line_breaks(delimiter: str) -> None:
    rows = [
        "image,caption",
        'a.jpg,"One, ""two"""',
        'a.jpg,"first\nsecond"',
        'b.jpg,He said "hi" .',
        "b.jpg,NA",
    ]
    table = "\r\n".join(row.replace(",", delimiter) for row in rows)
    collection = collect(files_of({"captions.txt": table, **pictures("Images/a.jpg", "Images/b.jpg")}))
    assert captions(collection) == {
        "Images/a.jpg": (f'One{delimiter} "two"', "first\nsecond"),
        "Images/b.jpg": ('He said "hi" .', "NA"),
    }
    assert collection.problems == ()


def test_token_lines_are_read_where_a_table_lies_beside_them() -> None:
    table = "image,caption\na.jpg,From the table\n"
    collection = collect(files_of({"Flickr8k.token.txt": TOKENS, "captions.txt": table, **pictures("a.jpg", "b.jpg")}))
    assert captions(collection)["a.jpg"] == ("A dog .", "A brown dog .")
    assert [(problem.kind, problem.item) for problem in collection.problems] == [("unused-file", "captions.txt")]


def test_other_text_files_are_no_captions() -> None:
    assert not Flickr8k().recognises(files_of({"captions.txt": "A dog .\n", "._Flickr8k.token.txt": ""}))
    assert not Flickr8k().recognises(files_of({"captions.txt": '"image,caption\na.jpg,A dog .\n'}))
    files = files_of(pictures("a.jpg"))
    with pytest.raises(InputError, match=r"neither Flickr8k\.token\.txt"):
        Flickr8k().read(files, files, CollectionConfig())


def test_token_lines_are_found_by_content() -> None:
    files = files_of({"my captions.txt": "a.jpg#0\tA dog .\na.jpg#1\tAgain .\n", **pictures("a.jpg")})
    collection = collect(files)
    assert (collection.format, captions(collection)) == ("flickr8k", {"a.jpg": ("A dog .", "Again .")})
