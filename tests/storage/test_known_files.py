import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from storage import known_files
from storage.known_files import KnownFiles


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files count as old enough at once."""
    monkeypatch.setattr(known_files, "SETTLED_NS", -(10**18))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Notes each file that is read for its digest."""
    read: list[str] = []
    real = hashlib.file_digest

    def noted(stream: object, name: str) -> object:
        read.append(Path(stream.name).name)
        return real(stream, name)

    monkeypatch.setattr(known_files.hashlib, "file_digest", noted)
    return read


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "image.jpg"
    path.write_bytes(b"one")
    return path


def digest(folder: Path, file: Path) -> str:
    with KnownFiles(folder / "known.db") as known:
        return known.digest(file)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.mark.usefixtures("settled")
def test_an_unchanged_file_is_read_once(file: Path, reads: list[str]) -> None:
    assert digest(file.parent, file) == digest(file.parent, file) == sha256(b"one")
    assert reads == ["image.jpg"]


@pytest.mark.usefixtures("settled")
def test_the_same_file_is_known_by_its_relative_path(
    file: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    digest(file.parent, file)
    monkeypatch.chdir(file.parent)
    assert digest(file.parent, Path("image.jpg")) == sha256(b"one")
    assert len(reads) == 1


@pytest.mark.usefixtures("settled")
def test_an_edited_file_is_read_again(file: Path) -> None:
    digest(file.parent, file)
    file.write_bytes(b"three")
    assert digest(file.parent, file) == sha256(b"three")


@pytest.mark.usefixtures("settled")
def test_an_edit_that_keeps_size_and_time_is_seen(file: Path) -> None:
    digest(file.parent, file)
    before = file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert digest(file.parent, file) == sha256(b"two")


@pytest.mark.usefixtures("settled")
def test_another_file_of_the_same_name_size_and_time_is_seen(file: Path) -> None:
    other = file.with_name("other.jpg")
    other.write_bytes(b"two")
    digest(file.parent, file)
    before = file.stat()
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(file)
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert digest(file.parent, file) == sha256(b"two")


def test_a_file_that_has_just_changed_is_not_trusted(file: Path, reads: list[str]) -> None:
    assert digest(file.parent, file) == digest(file.parent, file) == sha256(b"one")
    assert len(reads) == 2


@pytest.mark.usefixtures("settled")
def test_names_of_any_bytes_are_known_apart(tmp_path: Path, reads: list[str]) -> None:
    names = [b"\xff.jpg", b"\xfe.jpg", "é.jpg".encode(), "e\u0301.jpg".encode()]
    for name in names:
        (tmp_path / os.fsdecode(name)).write_bytes(name)
    for _ in range(2):
        assert [digest(tmp_path, tmp_path / os.fsdecode(name)) for name in names] == [sha256(name) for name in names]
    assert len(reads) == len(names)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        digest(tmp_path, tmp_path / "nothing.jpg")


@pytest.mark.usefixtures("settled")
def test_what_was_learned_before_a_failure_stays_known(file: Path, reads: list[str]) -> None:
    with pytest.raises(FileNotFoundError), KnownFiles(file.parent / "known.db") as known:
        [known.digest(path) for path in (file, file.with_name("nothing.jpg"))]
    digest(file.parent, file)
    assert len(reads) == 1
