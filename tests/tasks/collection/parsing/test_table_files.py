import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.collection.parsing.table_files import BATCH, open_table
from tasks.collection.records import Problem
from tasks.errors import InputError
from tests.tasks.collection.making import files_of


def parquet(**columns: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("source", "content"),
    [
        ("t.csv", "a,b,\n1,x,\n2,y,\n"),
        ("sub/T.TSV", "a\tb\n1\tx\n2\ty\n"),
        ("t.jsonl", '{"a": "1", "b": "x"}\n\n{"b": "y", "a": "2"}\n'),
        ("t.parquet", parquet(a=["1", "2"], b=["x", "y"], c=[0.5, 1.5])),
    ],
)
def test_rows_by_column(source: str, content: str | bytes) -> None:
    problems: list[Problem] = []
    table = open_table(files_of({source: content}), source, problems)
    assert list(table.columns) == ["a", "b"]
    assert [(row["a"], row["b"]) for _, row in table.rows(["a", "b"])] == [("1", "x"), ("2", "y")]
    assert problems == []


def test_rows_of_parquet_are_numbered_across_batches() -> None:
    table = open_table(files_of({"t.parquet": parquet(a=range(BATCH + 5))}), "t.parquet", [])
    assert [(number, row["a"] + 1) for number, row in table.rows(["a"])] == [(n, n) for n in range(1, BATCH + 6)]


@pytest.mark.parametrize(
    ("values", "held"),
    [
        (pa.array(["x"], pa.large_string()), True),
        (pa.array(["x"], pa.string_view()), True),
        (pa.array([["x"]], pa.large_list(pa.string())), True),
        (pa.array(["x"]).dictionary_encode(), True),
        (pa.array([None]), True),
        (pa.array([7], pa.uint64()), True),
        (pa.array([[7]]), False),
        (pa.array([0.5]), False),
        (pa.array(["\u00e9".encode(), None]), True),
        (pa.array([b"x", b"\xff\xd8"]), False),
        (pa.array([b"x\0"]), False),
        (pa.array([{"path": "x"}]), False),
        (pa.array([[0.5]], pa.list_(pa.float32(), 1)), False),
    ],
)
def test_columns_of_parquet_that_may_hold_text(values: pa.Array, held: bool) -> None:
    table = open_table(files_of({"t.parquet": parquet(a=values)}), "t.parquet", [])
    assert list(table.columns) == ["a"] * held


def test_what_is_broken_inside_parquet_is_one_sentence() -> None:
    data = parquet(a=["\u00e9"])
    broken = data.replace("\u00e9".encode(), b"\xff\xff")
    table = open_table(files_of({"t.parquet": broken}), "t.parquet", [])
    with pytest.raises(InputError, match=r"t\.parquet is an incomplete Parquet file"):
        list(table.rows(["a"]))
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    sentence = r"t\.parquet is an incomplete Parquet file \([^\n]*\); download it again\.$"
    with pytest.raises(InputError, match=sentence):  # Arrow's own message has several lines
        open_table(files_of({"t.parquet": data[:footer] + b"\xff" * 8 + data[footer + 8 :]}), "t.parquet", [])


def test_what_is_no_parquet_is_named_so() -> None:
    for content in (b"", b"junk", b"image,caption\n"):
        with pytest.raises(InputError, match=r"^t\.parquet is not a Parquet file, despite its name; check where"):
            open_table(files_of({"t.parquet": content}), "t.parquet", [])


def test_broken_lines_are_told() -> None:
    problems: list[Problem] = []
    table = open_table(files_of({"t.jsonl": '{"a": 1}\n[1]\n{"a": NaN, "a"}\n' + "[" * 5000}), "t.jsonl", problems)
    assert list(table.rows(["a"])) == [(1, {"a": 1})]
    assert [(problem.kind, problem.line) for problem in problems] == [("bad-row", line) for line in (2, 3, 4)]


def test_of_two_columns_of_one_name_in_parquet_the_last_is_read_and_that_is_told() -> None:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(["x"]), pa.array(["y"])], ["a", "a"]), stream)
    problems: list[Problem] = []
    table = open_table(files_of({"t.parquet": stream.getvalue()}), "t.parquet", problems)
    assert (table.columns, list(table.rows(["a"]))) == (["a"], [(1, {"a": "y"})])
    assert problems == [Problem("duplicate-column", "t.parquet", "2 columns are named a; the last one is read")]


@pytest.mark.parametrize(
    ("source", "content"),
    [
        ("t.txt", "a,b\n1,x\n"),
        ("t.csv", "a|b\n1|x\n"),
        ("t.txt", "a\tb\n1\tx\n"),
        ("t.txt", '{"a": "1", "b": "x"}\n'),
        ("t.ndjson", '{"a": "1", "b": "x"}\n'),
        ("t.json", '[{"a": "1", "b": "x"}]'),
        ("t.json", "a,b\n1,x\n"),
        ("t.jsonl", "a\tb\n1\tx\n"),
        ("t.csv", '{"a": "1", "b": "x"}\n{"a": '),
        ("t.tsv", '[\n{"a": "1",\n "b": "x"}\n]'),
        ("t.csv", "[id],a,b\n7,1,x\n"),
        ("t.data", parquet(a=["1"], b=[b"x"])),
    ],
)
def test_the_content_decides_what_a_table_is(source: str, content: str | bytes) -> None:
    table = open_table(files_of({source: content}), source, [])
    assert [(row["a"], row["b"]) for _, row in table.rows(["a", "b"])] == [("1", "x")]


def test_json_may_map_names_to_captions() -> None:
    table = open_table(files_of({"t.json": '{"a.jpg": "A dog .", "b.jpg": ["One .", "Two ."]}'}), "t.json", [])
    assert [(row["image"], row["caption"]) for _, row in table.rows(["image", "caption"])] == [
        ("a.jpg", "A dog ."),
        ("b.jpg", ["One .", "Two ."]),
    ]


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"PK\x03\x04", "Excel workbook"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "Excel workbook"),
        (b"\x1f\x8b", "compressed"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
    ],
)
def test_other_files_named_like_tables_are_one_sentence(start: bytes, kind: str) -> None:
    with pytest.raises(InputError, match=rf"^t\.csv is .*{kind}.*\.$"):
        open_table(files_of({"t.csv": start + b"\0" * 20}), "t.csv", [])


def test_columns_with_encoded_images_are_known() -> None:
    data = parquet(image=[{"bytes": b"\xff", "path": "a.jpg"}], jpg=[b"\xff"], text=[b"A dog ."])
    table = open_table(files_of({"t.parquet": data}), "t.parquet", [])
    assert (list(table.columns), list(table.image_columns)) == (["text"], ["image", "jpg"])
