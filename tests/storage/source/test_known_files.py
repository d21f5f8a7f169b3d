from pathlib import Path

import pytest

from storage.source.known_files import KnownFiles


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "known.db"


def test_a_digest_is_known_by_place_and_stamp(database: Path) -> None:
    with KnownFiles(database) as known:
        known.put("/a.jpg", "stamp", "1")
        known.put("s3://a.jpg", "stamp", "2")
    with KnownFiles(database) as known:
        assert [known.get("/a.jpg", "stamp"), known.get("s3://a.jpg", "stamp")] == ["1", "2"]
        assert known.get("/a.jpg", "other stamp") is None
        assert known.get("/b.jpg", "stamp") is None


def test_the_last_digest_stands(database: Path) -> None:
    with KnownFiles(database) as known:
        known.put("/a.jpg", "1", "1")
        known.put("/a.jpg", "2", "2")
        assert [known.get("/a.jpg", stamp) for stamp in "12"] == [None, "2"]


def test_names_of_any_bytes_are_known_apart(database: Path) -> None:
    names = ["/\udcff.jpg", "/\udcfe.jpg", "/é.jpg", "/e\u0301.jpg"]
    with KnownFiles(database) as known:
        for name in names:
            known.put(name, "stamp", ascii(name))
        assert [known.get(name, "stamp") for name in names] == list(map(ascii, names))


def test_what_was_learned_before_a_failure_stays_known(database: Path) -> None:
    def learn_and_fail(known: KnownFiles) -> None:
        known.put("/a.jpg", "stamp", "1")
        raise FileNotFoundError

    with pytest.raises(FileNotFoundError), KnownFiles(database) as known:
        learn_and_fail(known)
    with KnownFiles(database) as known:
        assert known.get("/a.jpg", "stamp") == "1"


def test_a_damaged_file_is_begun_anew(database: Path) -> None:
    database.write_bytes(b"no database at all, but long enough to be taken for one" * 100)
    with KnownFiles(database) as known:
        assert known.get("/a.jpg", "stamp") is None


def test_a_link_to_another_database_is_replaced(database: Path, tmp_path: Path) -> None:
    with KnownFiles(tmp_path / "other.db"):
        pass
    before = (tmp_path / "other.db").read_bytes()
    database.symlink_to(tmp_path / "other.db")
    with KnownFiles(database) as known:
        known.put("/a.jpg", "stamp", "1")
    assert (tmp_path / "other.db").read_bytes() == before
    assert not database.is_symlink()
