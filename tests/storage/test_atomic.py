import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from storage.atomic import TEMPORARY, fresh_file, fresh_folder, temporary_path


def write(place: Path, text: str) -> None:
    """Write a file, or a file in a folder."""
    (place / "file" if place.is_dir() else place).write_text(text)


def read(place: Path) -> str:
    return (place / "file" if place.is_dir() else place).read_text()


fresh = pytest.mark.parametrize("fresh", [fresh_file, fresh_folder])
Fresh = Callable[[Path], AbstractContextManager[Path]]


@fresh
def test_nothing_is_seen_before_it_is_complete(fresh: Fresh, tmp_path: Path) -> None:
    final = tmp_path / "final"
    for text in ("first", "second"):
        before = read(final) if final.exists() else None
        with fresh(final) as temporary:
            write(temporary, text)
            assert (read(final) if final.exists() else None) == before
        assert read(final) == text
    assert [path.name for path in tmp_path.iterdir()] == ["final"]


@fresh
@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_a_failure_leaves_the_earlier_content(fresh: Fresh, error: type[BaseException], tmp_path: Path) -> None:
    def fail() -> None:
        with fresh(final) as temporary:
            write(temporary, "half")
            raise error

    final = tmp_path / "final"
    with pytest.raises(error):
        fail()
    assert list(tmp_path.iterdir()) == []
    with fresh(final) as temporary:
        write(temporary, "first")
    with pytest.raises(error):
        fail()
    assert read(final) == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["final"]


def test_a_file_that_was_never_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), fresh_file(tmp_path / "final"):
        pass


def test_temporary_names_are_hidden_next_to_the_final_one_and_one_for_each_thread(tmp_path: Path) -> None:
    names: list[Path] = []
    both = threading.Barrier(2)

    def note() -> None:
        names.append(temporary_path(tmp_path / "table.parquet"))
        both.wait()

    threads = [threading.Thread(target=note) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(names)) == 2
    assert all(name.parent == tmp_path and name.match(TEMPORARY) for name in names)
    assert all(name.name.startswith(".table.parquet.") for name in names)
