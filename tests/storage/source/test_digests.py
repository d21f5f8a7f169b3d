import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import fsspec
import pytest

from storage.source import digests
from storage.source.digests import file_digests, former_digests, tree_digest
from storage.source.known_files import KnownFiles
from storage.source.tree import Tree, list_tree


class Bars:
    """Notes labels and totals of progress that is shown, and how much of it was done."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, int]] = []
        self.done = 0

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Callable[[int], None]]:
        self.shown.append((label, total))
        yield self._step

    def _step(self, step: int) -> None:
        self.done += step


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count as old enough at once."""
    monkeypatch.setattr(digests, "SETTLED_NS", -(10**18))


@pytest.fixture
def bars() -> Bars:
    return Bars()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "collection" / "image.jpg"
    path.parent.mkdir()
    path.write_bytes(b"one")
    return path


@pytest.fixture
def known(tmp_path: Path) -> Iterator[KnownFiles]:
    with KnownFiles(tmp_path / "known.db") as known:
        yield known


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def digest(file: Path, known: KnownFiles, bars: Bars) -> str:
    return file_digests(list_tree(str(file)), known, bars)[file.name]


@pytest.mark.usefixtures("settled")
def test_an_unchanged_file_is_read_once_and_only_reading_shows_a_bar(file: Path, known: KnownFiles, bars: Bars) -> None:
    assert digest(file, known, bars) == digest(file, known, bars) == sha256(b"one")
    assert bars.shown == [("reading files", 1)]
    assert bars.done == 1


@pytest.mark.usefixtures("settled")
def test_the_same_file_is_known_by_its_relative_path(
    file: Path, known: KnownFiles, bars: Bars, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest(file, known, bars)
    monkeypatch.chdir(file.parent)
    assert digest(Path("image.jpg"), known, bars) == sha256(b"one")
    assert len(bars.shown) == 1


@pytest.mark.usefixtures("settled")
def test_an_edit_that_keeps_size_and_time_is_seen(file: Path, known: KnownFiles, bars: Bars) -> None:
    digest(file, known, bars)
    before = file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert digest(file, known, bars) == sha256(b"two")


@pytest.mark.usefixtures("settled")
def test_another_file_of_the_same_name_size_and_time_is_seen(file: Path, known: KnownFiles, bars: Bars) -> None:
    other = file.with_name("other.jpg")
    other.write_bytes(b"two")
    digest(file, known, bars)
    before = file.stat()
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(file)
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert digest(file, known, bars) == sha256(b"two")


def test_a_file_that_has_just_changed_is_not_trusted(file: Path, known: KnownFiles, bars: Bars) -> None:
    assert digest(file, known, bars) == digest(file, known, bars) == sha256(b"one")
    assert len(bars.shown) == 2


@pytest.mark.usefixtures("settled")
def test_a_file_that_changes_while_it_is_read_is_not_remembered(
    file: Path, known: KnownFiles, bars: Bars, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = hashlib.file_digest

    def slow(stream: object, name: str) -> object:
        file.write_bytes(b"three")
        return real(stream, name)

    monkeypatch.setattr(digests.hashlib, "file_digest", slow)
    digest(file, known, bars)
    monkeypatch.undo()
    assert digest(file, known, bars) == sha256(b"three")
    assert len(bars.shown) == 2


@pytest.mark.usefixtures("settled")
def test_names_of_any_bytes_are_known_apart(tmp_path: Path, known: KnownFiles, bars: Bars) -> None:
    names = [b"\xff.jpg", b"\xfe.jpg", "é.jpg".encode(), "e\u0301.jpg".encode()]
    folder = tmp_path / "names"
    folder.mkdir()
    for name in names:
        (folder / os.fsdecode(name)).write_bytes(name)
    expected = {os.fsdecode(name): sha256(name) for name in names}
    for _ in range(2):
        assert file_digests(list_tree(str(folder)), known, bars) == expected
    assert bars.done == len(names)


def test_what_cannot_be_read_says_why_and_is_not_remembered(file: Path, known: KnownFiles, bars: Bars) -> None:
    tree = list_tree(str(file))
    file.unlink()
    assert file_digests(tree, known, bars) == {"image.jpg": "unreadable: No such file or directory"}
    file.write_bytes(b"one")
    assert file_digests(tree, known, bars) == {"image.jpg": sha256(b"one")}


def test_the_digest_is_that_of_names_contents_and_what_is_passed_over(
    file: Path, known: KnownFiles, bars: Bars
) -> None:
    folder = file.parent

    def now() -> str:
        return tree_digest(list_tree(str(folder)), known, bars)

    seen = [now()]
    (folder / ".hidden").write_bytes(b"changed")
    assert now() == seen[0]
    file.write_bytes(b"two")
    seen.append(now())
    file.rename(folder / "other.jpg")
    seen.append(now())
    (folder / "self").symlink_to("self")
    seen.append(now())
    assert len(set(seen)) == 4


@pytest.mark.usefixtures("settled")
def test_without_a_stamp_files_are_read_each_time(known: KnownFiles, bars: Bars) -> None:
    filesystem = fsspec.filesystem("memory")
    try:
        for content in (b"one", b"two"):
            filesystem.pipe("/digests/image.jpg", content)
            assert file_digests(list_tree("memory://digests"), known, bars) == {"image.jpg": sha256(content)}
        assert len(bars.shown) == 2
    finally:
        filesystem.rm("/digests", recursive=True)


@pytest.mark.parametrize(
    ("details", "trusted"),
    [
        ({"ETag": '"1"'}, True),
        ({"etag": "1"}, True),
        ({"md5Hash": "1"}, True),
        ({"content_hash": "1"}, True),
        ({"ETag": 'W/"1"'}, False),
        ({"ETag": ""}, False),
        ({"mtime": 1}, False),
    ],
)
def test_stamps_are_what_services_say_of_a_content(details: dict[str, object], trusted: bool) -> None:
    filesystem = fsspec.filesystem("memory")
    filesystem.pipe("/stamps/a.jpg", b"one")
    try:
        tree = replace(list_tree("memory://stamps"), details={"a.jpg": {**details, "size": 3}})
        assert ("a.jpg" in digests.file_stamps(tree)) is trusted
    finally:
        filesystem.rm("/stamps", recursive=True)


@pytest.mark.usefixtures("settled")
def test_what_was_read_before_an_interrupt_need_not_be_read_again(
    file: Path, known: KnownFiles, bars: Bars, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.with_name("next.jpg").write_bytes(b"next")
    tree = list_tree(str(file.parent))
    real = Tree.open

    def interrupted(tree: Tree, path: str) -> BinaryIO:
        if path == "next.jpg":
            raise KeyboardInterrupt
        return real(tree, path)

    with monkeypatch.context() as patched:
        patched.setattr(Tree, "open", interrupted)
        with pytest.raises(KeyboardInterrupt):
            file_digests(tree, known, bars)
    file_digests(tree, known, bars)
    assert bars.shown == [("reading files", 2), ("reading files", 1)]


@pytest.mark.usefixtures("settled")
def test_the_former_digest_of_a_renamed_file_is_known(file: Path, tmp_path: Path) -> None:
    tree = list_tree(str(file.parent))
    database = tmp_path / "known.db"
    assert former_digests(tree, ["image.jpg"], database) == {}
    assert not database.exists()
    with KnownFiles(database) as known:
        file_digests(tree, known, Bars())
    file.rename(file.with_name("renamed.jpg"))
    found = former_digests(list_tree(str(file.parent)), ["image.jpg", "other.jpg"], database)
    assert found == {"image.jpg": sha256(b"one")}
