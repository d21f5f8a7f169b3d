import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.collection.parsing.csv_rows import read_csv, read_tsv
from tasks.collection.records import Problem
from tasks.errors import InputError

CELL = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=8)


@given(st.lists(st.tuples(CELL.filter(bool), CELL), max_size=8), st.sampled_from(",;\t"))
def test_whatever_a_csv_writer_wrote_comes_back(rows: list[tuple[str, str]], delimiter: str) -> None:
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter).writerows([("image", "caption"), *rows])
    problems: list[Problem] = []
    read = read_csv(stream.getvalue(), "f.csv", problems)
    assert [(row["image"], row["caption"]) for _, row in read] == rows
    assert problems == []


@pytest.mark.parametrize("broken", ['x,"open', 'x,"open "inside" it"', "x", "x,y,z"])
def test_a_broken_row_is_told_and_costs_no_other(broken: str) -> None:
    problems: list[Problem] = []
    text = f'image,caption\na,"one\ntwo"\n{broken}\nb,three\n\nc,"four",\n'
    assert read_csv(text, "f.csv", problems) == [
        (2, {"image": "a", "caption": "one\ntwo"}),
        (5, {"image": "b", "caption": "three"}),
        (7, {"image": "c", "caption": "four"}),
    ]
    assert [(problem.kind, problem.item, problem.line) for problem in problems] == [("bad-row", "f.csv", 4)]


@pytest.mark.timeout(10)
def test_many_open_quotes_are_no_hang() -> None:
    problems: list[Problem] = []
    assert read_csv("image,caption\n" + 'a,"open\n' * 2000, "f.csv", problems) == []
    assert len(problems) == 2000


@given(st.text(st.sampled_from('a,;"\n\r\t\x00é')))
def test_any_text_gives_rows_or_problems(text: str) -> None:
    problems: list[Problem] = []
    rows = read_csv("x,y\n" + text, "f.csv", problems)
    assert all(list(row) == ["x", "y"] for _, row in rows)
    assert bool(rows or problems) == bool(text.strip("\r\n"))


def test_an_empty_file_has_no_rows() -> None:
    assert read_csv("", "f.csv", []) == []


def test_of_two_columns_of_one_name_the_last_is_read_and_that_is_told() -> None:
    problems: list[Problem] = []
    assert read_csv("image,caption,caption\na,b,c\n", "f.csv", problems) == [(2, {"image": "a", "caption": "c"})]
    detail = "2 columns are named caption; the last one is read"
    assert problems == [Problem("duplicate-column", "f.csv", detail, 1)]


@pytest.mark.parametrize(
    ("fields", "values"),
    [
        (['"stop"', 'a "b" c', '"so" it says', "a, b; c"], ['"stop"', 'a "b" c', '"so" it says', "a, b; c"]),
        (['"A sign', "stop"], ['"A sign', "stop"]),
        (['"say ""x"""', '"a\tb"', "plain"], ['say "x"', "a\tb", "plain"]),
        (['"two\nlines"', '"plain"'], ["two\nlines", "plain"]),
        (["5\u2028", "\u00e9"], ["5\u2028", "\u00e9"]),
    ],
)
def test_quotes_of_a_tsv_are_text_unless_they_evidently_quote(fields: list[str], values: list[str]) -> None:
    problems: list[Problem] = []
    text = "image\tcaption\r\n" + "".join(f"a\t{field}\r\n" for field in fields)
    assert [row["caption"] for _, row in read_tsv(text, "f.tsv", problems)] == values
    assert problems == []


def test_quotes_of_a_tsv_quote_where_its_header_is_quoted() -> None:
    assert read_tsv('"image"\t"caption"\n"a"\t"stop"', "f.tsv", []) == [(2, {"image": "a", "caption": "stop"})]


def test_a_broken_row_of_a_tsv_is_told() -> None:
    problems: list[Problem] = []
    rows = read_tsv('image\tcaption\na\t"one\nb\nc\ttwo', "f.tsv", problems)
    assert rows == [(2, {"image": "a", "caption": '"one'}), (4, {"image": "c", "caption": "two"})]
    assert [(problem.kind, problem.line) for problem in problems] == [("bad-row", 3)]


@pytest.mark.parametrize(("start", "delimiter"), [("sep=;\n", ";"), ("SEP=|\r\n", "|"), ("sep=\t\n", "\t"), ("", "|")])
def test_a_first_line_may_name_the_delimiter(start: str, delimiter: str) -> None:
    problems: list[Problem] = []
    text = f'{start}image{delimiter}caption\na.jpg{delimiter}"one, two"\n'
    assert read_csv(text, "f.csv", problems) == [(2 + bool(start), {"image": "a.jpg", "caption": "one, two"})]
    assert problems == []


def test_quotes_after_a_space_quote_unless_that_breaks_rows() -> None:
    problems: list[Problem] = []
    assert [row["b"] for _, row in read_csv('a, b\nx, "one, two"\ny, three\n', "f", problems)] == ["one, two", "three"]
    assert [row["b"] for _, row in read_csv('a, b\nx, "one" he said\n', "f", problems)] == [' "one" he said']
    assert problems == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (
            'image,caption\na.jpg,A dog\nb.jpg,"A cat\nc.jpg,A cow\n',
            3,
            "the quote that opens here is not closed; close",
        ),
        ('image,caption\na.jpg,"A dog\nb.jpg,"A cat"\n', 2, "the quote that opens here is not closed; close"),
        ('image,caption\na.jpg,"A dog" runs\nb.jpg,A cat\n', 2, "text follows the closing quote of a field; write"),
    ],
)
def test_a_quote_in_the_wrong_place_is_named_with_its_line_and_remedy(text: str, line: int, words: str) -> None:
    problems: list[Problem] = []
    read_csv(text, "list.csv", problems)
    assert [(problem.kind, problem.item, problem.line) for problem in problems] == [("bad-row", "list.csv", line)]
    assert problems[0].detail.startswith(words)
    assert problems[0].detail.endswith('write "" for a quote inside a field; the row is skipped')


def test_a_quote_that_is_not_closed_in_the_header_is_one_sentence() -> None:
    sentence = r"^Cannot read the header of list\.csv \(line 2\): the quote that opens here is not closed; close it"
    with pytest.raises(InputError, match=sentence):
        read_csv('\nimage,"caption\na.jpg,A dog\n', "list.csv", [])
