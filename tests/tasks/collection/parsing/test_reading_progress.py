from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.collection.parsing.reading_progress import BUFFER, LARGE, with_progress
from tasks.collection.records import Files
from tests.tasks.collection.making import files_of

DATA = bytes(LARGE)


class Bars:
    """What progress bars were told; a bar that ended has the label `done`."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []

    @contextmanager
    def progress(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        self.told.append((label, total))
        yield lambda step: self.told.append(("step", step))
        self.told.append(("done", 0))


def test_a_large_file_tells_what_is_read_of_it() -> None:
    bars = Bars()
    files = with_progress(files_of({"a/large.json": DATA}), bars.progress)
    assert files.paths == ["a/large.json"]
    with files.open("a/large.json") as stream:
        assert stream.read(10) == DATA[:10]
        assert bars.told == [("reading a/large.json", LARGE), ("step", BUFFER)]
        assert stream.read() == DATA[10:]
    assert stream.closed
    assert sum(step for label, step in bars.told if label == "step") == LARGE
    assert [label for label, _ in bars.told].count("done") == 1
    assert files.read("a/large.json") == DATA


def test_a_small_file_is_opened_as_it_is() -> None:
    bars = Bars()
    assert with_progress(files_of({"small": DATA[1:]}), bars.progress).read("small") == DATA[1:]
    assert bars.told == []


def test_the_bar_ends_where_reading_is_broken_off() -> None:
    bars = Bars()
    with with_progress(files_of({"a": DATA}), bars.progress).open("a") as stream:
        stream.read(1)
    assert bars.told[-1] == ("done", 0)


def test_readers_may_seek() -> None:
    filesystem = fsspec.filesystem("memory")
    with filesystem.open("/watched.parquet", "wb") as stream:
        pq.write_table(pa.table({"a": pa.array(range(LARGE // 4))}), stream, compression="none")
    files = with_progress(Files(["watched.parquet"], lambda path: filesystem.open(f"/{path}", "rb")), Bars().progress)
    with files.open("watched.parquet") as opened:
        assert pq.read_table(opened)["a"][-1].as_py() == LARGE // 4 - 1
    filesystem.rm("/watched.parquet")


def test_a_stream_without_a_size_is_opened_as_it_is() -> None:
    class Streamed:
        def seek(self, *_: int) -> int:
            raise ValueError("Cannot seek streaming HTTP file")

    stream: BinaryIO = Streamed()  # type: ignore[assignment]
    assert with_progress(Files(["a"], lambda _: stream), Bars().progress).open("a") is stream
