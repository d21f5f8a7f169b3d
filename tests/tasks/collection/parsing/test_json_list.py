import json
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.collection.parsing import json_list
from tasks.collection.parsing.json_list import read_list
from tasks.collection.records import Problem
from tasks.errors import InputError
from tests.tasks.collection.making import files_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def listed(content: str | bytes) -> tuple[list[Any], list[Problem]]:
    problems: list[Problem] = []
    return list(read_list(files_of({"a.json": content}), "a.json", problems)), problems


@pytest.fixture(params=[1, 7, 2**20])
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_list, "CHUNK", request.param)


@given(
    st.lists(VALUES, max_size=5), st.booleans(), st.sampled_from([None, 1]), st.sampled_from(["", "\ufeff", " \r\n"])
)
def test_the_entries_are_those_that_json_finds(values: list[Any], ascii: bool, indent: int | None, start: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_list, "CHUNK", 5)
        text = start + json.dumps(values, ensure_ascii=ascii, indent=indent)
        try:
            content = text.encode()
        except UnicodeEncodeError:
            return
        assert listed(content) == (values, [])


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize(
    "content", ["[]", " [ ] \n", "[1, 23, 456]", '[{"id": 12345678901234567890123}]', '["\\udc00"]']
)
def test_chunks_cut_nothing(content: str) -> None:
    assert listed(content) == (json.loads(content), [])


@pytest.mark.usefixtures("chunk")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "entry 0: it is not a list"),
        ("null", "entry 0: it is not a list"),
        ('{"data": [1]}', "entry 0: it is not a list"),
        ("[", "entry 0: Expecting value"),
        ("[1", "entry 0: expected `,` or `]`"),
        ("[1,", "entry 1: Expecting value"),
        ("[1,]", "entry 1: Expecting value"),
        ('[{"a": 1}, {"b": "cu', "entry 1: Unterminated string starting at"),
        ('[{"a": 1} {"b": 2}]', "entry 0: expected `,` or `]`"),
        ("[1] [2]", "entry 1: there is text after the end of the list"),
        (b"[1]\xc3", "entry 1: there is text after the end of the list"),
        ("[" * 9999, "maximum recursion depth exceeded"),
        (f"[{'9' * 9999}]", "entry 0: Exceeds the limit"),
        ("[1]".encode("utf-16"), "entry 0: it is not a list"),
    ],
)
def test_what_is_not_whole_is_one_sentence(content: str | bytes, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        listed(content)
    assert str(caught.value).startswith(f"a.json is not a valid JSON list ({reason}")
    assert str(caught.value).endswith("; it may be truncated.")


@pytest.mark.usefixtures("chunk")
def test_other_bytes_are_windows_1252_and_told() -> None:
    entries, problems = listed(b'["caf\xe9", "\x93quoted\x94", "caf\xc3\xa9", "\x81"]')
    assert entries == ["café", "“quoted”", "café", "\ufffd"]
    assert problems == [Problem("encoding-fallback", "a.json", "4 bytes not in UTF-8, read as Windows-1252")]


def test_an_entry_that_never_ends_does_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_list, "LONGEST", 2**21)
    texts = chain(['["'], repeat("x" * 2**20))
    with pytest.raises(ValueError, match="entry 0: Unterminated string"):
        list(json_list._entries(texts))


def test_the_encoding_may_be_named() -> None:
    files = replace(files_of({"a.json": '["caf\u00e9"]'.encode("cp850")}), encoding="cp850")
    problems: list[Problem] = []
    assert list(read_list(files, "a.json", problems)) == ["caf\u00e9"]
    assert problems == []
