"""Digests of files that were read before, so that unchanged files are not read again."""

import sqlite3
from pathlib import Path


class KnownFiles:
    """A small SQLite database, used as a context manager. Losing it costs time, never correctness."""

    def __init__(self, path: Path) -> None:
        self._connection = _connect(path)

    def __enter__(self) -> "KnownFiles":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.commit()
        self._connection.close()

    def get(self, place: str, stamp: str) -> str | None:
        """Return the SHA-256 of the file at an absolute path or URL, if it was recorded with this stamp."""
        found = self._connection.execute("SELECT stamp, sha256 FROM digest WHERE path = ?", (_key(place),)).fetchone()
        return str(found[1]) if found is not None and found[0] == stamp else None

    def last(self, place: str) -> str | None:
        """Return the SHA-256 that the file had when it was last read, whatever has become of it."""
        found = self._connection.execute("SELECT sha256 FROM digest WHERE path = ?", (_key(place),)).fetchone()
        return None if found is None else str(found[0])

    def put(self, place: str, stamp: str, sha256: str) -> None:
        """Record a file's stamp and SHA-256, replacing earlier ones."""
        self._connection.execute("INSERT OR REPLACE INTO digest VALUES (?, ?, ?)", (_key(place), stamp, sha256))


def _key(place: str) -> str:
    """Return a file name as text that SQLite can store, whatever its bytes."""
    return place.encode("utf-8", "surrogateescape").hex()


def _connect(path: Path) -> sqlite3.Connection:
    """Open the database, replacing it if it is damaged."""
    if path.is_symlink():  # it may lead to somebody else's database
        path.unlink()
    table = "CREATE TABLE IF NOT EXISTS digest (path TEXT PRIMARY KEY, stamp TEXT, sha256 TEXT)"
    connection = sqlite3.connect(path)
    try:
        connection.execute(table)
    except sqlite3.DatabaseError:
        connection.close()
        path.unlink()
        connection = sqlite3.connect(path)
        connection.execute(table)
    return connection
