import io
from typing import BinaryIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.collection.config import CollectionConfig
from tasks.collection.formats import read_collection
from tasks.collection.readers.sidecar import Sidecar
from tasks.collection.records import Files, Problem
from tasks.errors import InputError
from tests.tasks.collection.making import captions, collect, files_of, kinds, picture, pictures

LINE = st.text(st.characters(codec="utf-8", exclude_characters="\0\n\r\ufeff"), min_size=1).map(str.strip).filter(bool)


def read(files: Files) -> tuple[dict[str, tuple[str, ...]], list[Problem]]:
    reading = Sidecar().read(files, files, CollectionConfig())
    return {item.path: item.captions for item in reading.items}, list(reading.problems)


def test_a_caption_a_line_beside_each_image() -> None:
    contents: dict[str, str | bytes] = {
        "a.jpg.txt": "of no image",
        "a.txt": "A dog .\n\n \t\r\n  A brown dog .\r\n",
        "b/a.TXT": '\ufeffA cat, "so" | it\tseems \u2028 .',
        "v1.2.txt": "A cow .",
        "c.txt": "",
        "._d.txt": "hidden",
        **pictures("a.jpg", "b/a.PNG", "v1.2.webp", "c.jpg", "d.jpg"),
    }
    collection = collect(files_of(contents))
    assert collection.format == "sidecar"
    assert captions(collection) == {
        "a.jpg": ("A dog .", "A brown dog ."),
        "b/a.PNG": ('A cat, "so" | it\tseems \u2028 .',),
        "c.jpg": (),
        "d.jpg": (),
        "v1.2.webp": ("A cow .",),
    }
    told = [(problem.kind, problem.item) for problem in collection.problems if problem.kind != "near-duplicate"]
    assert told == [("no-caption", "c.jpg"), ("no-caption", "d.jpg"), ("unknown-image", "a.jpg.txt")]


@given(st.lists(LINE, min_size=1), st.sampled_from(["\n", "\r\n", "\n\n"]), st.sampled_from(["utf-8", "utf-8-sig"]))
def test_any_lines_come_back(lines: list[str], ending: str, encoding: str) -> None:
    text = ending.join(lines).encode(encoding)
    files = files_of({"a.txt": text, "a.jpg": b""})
    assert read(files) == ({"a.jpg": tuple(lines)}, [])


def test_windows_1252_is_told() -> None:
    found, problems = read(files_of({"a.txt": "A café .".encode("cp1252"), "a.jpg": b""}))
    assert found == {"a.jpg": ("A café .",)}
    assert [(problem.kind, problem.item) for problem in problems] == [("encoding-fallback", "a.txt")]


def test_short_files_share_their_encoding() -> None:
    texts = ["รถสีแดงในเมือง", "ชามผลไม้", "คนที่โต๊ะ", "สุนัขวิ่งบนชายหาด"]
    contents = {f"{number}.txt": text.encode("tis-620") for number, text in enumerate(texts)}
    found, _ = read(files_of({**contents, **{f"{number}.jpg": b"" for number in range(4)}}))
    assert list(found.values()) == [(text,) for text in texts]


def test_two_images_of_one_name_share_their_captions_and_that_is_told() -> None:
    found, problems = read(files_of({"cat.txt": "A cat .", **pictures("cat.jpg", "cat.png", "b/cat.gif")}))
    assert found == {"cat.jpg": ("A cat .",), "cat.png": ("A cat .",), "b/cat.gif": ()}
    detail = "several images share these captions: cat.jpg, cat.png"
    assert problems == [Problem("shared-captions", "cat.txt", detail)]


def test_a_text_that_cannot_be_read_costs_no_other() -> None:
    def open_bytes(path: str) -> BinaryIO:
        if path == "a.txt":
            raise PermissionError(13, "Permission denied")
        return io.BytesIO(b"A dog .")

    found, problems = read(Files(["a.jpg", "a.txt", "b.jpg", "b.txt"], open_bytes))
    assert found == {"a.jpg": (), "b.jpg": ("A dog .",)}
    detail = "cannot be read (Permission denied); its captions are ignored"
    assert problems == [Problem("unreadable-file", "a.txt", detail)]


def test_images_may_lie_under_another_root() -> None:
    reading = read_collection(files_of({"x/a.txt": "A dog ."}), files_of({"x/a.jpg": picture()}), "sidecar")
    assert [(item.path, item.captions) for item in reading.items] == [("x/a.jpg", ("A dog .",))]


@pytest.mark.parametrize("text", ["notes.txt", "b/a.txt", "a.jpg.txt", "__MACOSX/a.txt"])
def test_without_a_pair_it_is_one_sentence(text: str) -> None:
    files = files_of({text: "A dog .", **pictures("a.jpg")})
    assert not Sidecar().recognises(files)
    with pytest.raises(InputError, match="No image has a text file with the same name"):
        Sidecar().read(files, files, CollectionConfig())


def test_two_spellings_of_the_extension_are_both_read() -> None:
    collection = collect(files_of({**pictures("a.jpg"), "a.TXT": "A dog .", "a.txt": "A pup ."}))
    assert [image.captions for image in collection.images] == [("A dog .", "A pup .")]


def test_utf16_without_bom_is_read() -> None:
    files = files_of({"a.txt": "A dog .\r\nAgain .\r\n".encode("utf-16-le"), **pictures("a.jpg")})
    collection = collect(files)
    assert captions(collection) == {"a.jpg": ("A dog .", "Again .")}
    assert kinds(collection) == {"encoding-fallback": 1}


def test_a_text_of_unknown_encoding_costs_no_other() -> None:
    contents = {"a.txt": bytes(range(128, 256)), "b.txt": "A cat .\n"}
    collection = collect(files_of({**contents, **pictures("a.jpg", "b.jpg")}))
    assert captions(collection) == {"a.jpg": (), "b.jpg": ("A cat .",)}
    assert kinds(collection) == {"no-caption": 1, "unreadable-file": 1}
