import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.collection.parsing.text import clean_captions, decode_text, is_unicode, numbered_lines, printable
from tasks.collection.records import Problem
from tasks.errors import InputError

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


@given(st.text(), st.booleans())
def test_utf8_with_or_without_bom_comes_back_whole(text: str, bom: bool) -> None:
    problems: list[Problem] = []
    text = text.removeprefix("\ufeff")
    assert decode_text(text.encode("utf-8-sig" if bom else "utf-8"), "f", problems) == text
    assert problems == []


def test_windows_1252_is_told_with_its_first_line_and_spares_the_utf8_lines() -> None:
    problems: list[Problem] = []
    data = "plain\nnaïve €\n".encode("cp1252") + "日本 café\n".encode() + "“café”".encode("cp1252")
    assert decode_text(data, "captions.txt", problems) == "plain\nnaïve €\n日本 café\n“café”"
    detail = "2 lines not in UTF-8, read as Windows-1252; if the text looks wrong, use --encoding"
    assert problems == [Problem("encoding-fallback", "captions.txt", detail, 2)]


@pytest.mark.parametrize("family", ["UTF-16", "UTF-32"])
def test_byte_order_marks_are_read_and_told(family: str) -> None:
    problems: list[Problem] = []
    assert decode_text("A dog .".encode(family), "f", problems) == "A dog ."
    assert problems == [Problem("encoding-fallback", "f", f"the file was read as {family}, not UTF-8", 1)]


@given(st.binary())
def test_any_bytes_are_some_text_and_keep_their_lines(data: bytes) -> None:
    problems: list[Problem] = []
    try:
        text = decode_text(data, "f", problems)
    except InputError as error:
        assert "--encoding" in str(error)  # noqa: PT017  only some bytes raise it
        return
    assert is_unicode(text)
    assert "read as UTF-" in str(problems) or text.count("\n") == data.count(b"\n")
    assert len(problems) <= 1


def test_only_line_feeds_end_a_line() -> None:
    text = "one\u2028still one\x0b\x85.\r\n\n \nfour\rstill four\n\n"
    assert list(numbered_lines(text)) == [(1, "one\u2028still one\x0b\x85."), (4, "four\rstill four")]


@pytest.mark.parametrize(
    "caption", ["NA", "None", "12", 'say "x" | y\tz', "Salt &amp; pepper", "a\x00b", "a\u200bb", "\ufeffa"]
)
def test_captions_stay_as_given_but_for_white_space_around(caption: str) -> None:
    problems: list[Problem] = []
    assert clean_captions(f" \n{caption}\u3000", "a.jpg", 1, problems) == [caption]
    assert problems == []


def test_what_is_no_caption_is_told_but_null() -> None:
    problems: list[Problem] = []
    assert clean_captions(["A dog .", None, "", " \t", 12, ["x"], True], "a.jpg", 3, problems) == ["A dog ."]
    assert [problem.kind for problem in problems] == ["empty-caption"] * 2 + ["bad-row"] * 3
    assert {(problem.item, problem.line) for problem in problems} == {("a.jpg", 3)}
    assert clean_captions(None, "a.jpg", 4, []) == []


def test_lone_surrogates_are_replaced_and_told_and_pairs_are_joined() -> None:
    problems: list[Problem] = []
    assert clean_captions("ball \ud83d on \ud83d\ude00", "a.jpg", 1, problems) == ["ball \ufffd on 😀"]
    assert [problem.kind for problem in problems] == ["lone-surrogate"]


@given(st.lists(ANY_TEXT))
def test_captions_can_be_written_and_none_vanishes_untold(texts: list[str]) -> None:
    problems: list[Problem] = []
    captions = clean_captions(texts, "a.jpg", None, problems)
    assert all(is_unicode(caption) and caption for caption in captions)
    assert len(captions) + sum(problem.kind == "empty-caption" for problem in problems) == len(texts)


@given(ANY_TEXT)
def test_printable_changes_nothing_that_is_unicode(text: str) -> None:
    assert is_unicode(printable(text))
    assert (printable(text) == text) == is_unicode(text)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_known_by_its_bom_and_told(encoding: str) -> None:
    problems: list[Problem] = []
    assert decode_text("\ufeffcaf\u00e9\r\n\U0001f415".encode(encoding), "f", problems) == "caf\u00e9\r\n\U0001f415"
    assert problems == [Problem("encoding-fallback", "f", "the file was read as UTF-16, not UTF-8", 1)]


@pytest.mark.parametrize(
    ("encoding", "name"), [("cp1251", "cp1251"), ("gbk", "gb18030"), ("utf-16-le", "UTF-16-LE"), ("big5", "big5")]
)
def test_other_scripts_are_detected_and_reported(encoding: str, name: str) -> None:
    text = {"cp1251": "собака бежит", "big5": "一個男孩在公園裡"}.get(encoding, "一个男孩在公园里踢足球")
    problems: list[Problem] = []
    content = f"image,caption\na.jpg,{text}\n"
    assert decode_text(content.encode(encoding), "t.csv", problems) == content
    (problem,) = problems
    assert (problem.kind, name in problem.detail) == ("encoding-fallback", True)


def test_a_named_encoding_is_used_and_what_does_not_fit_is_counted() -> None:
    problems: list[Problem] = []
    assert decode_text("caf\u00e9".encode("cp850"), "f", problems, "cp850") == "caf\u00e9"
    assert decode_text(b"\xef\xbb\xbfa", "f", problems, "utf-8") == "a"
    assert problems == []
    assert decode_text(b"a\xff", "f", problems, "ascii") == "a\ufffd"
    detail = "1 character not valid in ascii, replaced by U+FFFD"
    assert problems == [Problem("encoding-fallback", "f", detail)]


def test_text_of_no_known_encoding_names_the_option() -> None:
    with pytest.raises(InputError, match=r"^t\.csv is not UTF-8 \(line 2\) .* name it with --encoding"):
        decode_text(b"a\n" + bytes(range(128, 256)), "t.csv", [])
