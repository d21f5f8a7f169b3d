"""What is remembered about files, so that unchanged ones are not read again."""

import hashlib
import sqlite3
import time
from pathlib import Path

SETTLED_NS = 2_000_000_000  # a file that changed this recently may change again within one time stamp


class KnownFiles:
    """A small SQLite file. Use as a context manager; losing it costs time, never correctness."""

    def __init__(self, path: Path) -> None:
        self._connection = _connect(path)

    def __enter__(self) -> "KnownFiles":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.commit()
        self._connection.close()

    def digest(self, path: Path) -> str:
        """SHA-256 of the file, remembered while size, times and inode stay as they were. Raises OSError."""
        status = path.stat()
        stamp = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
        name = str(path.absolute()).encode("utf-8", "surrogateescape").hex()
        row = self._connection.execute("SELECT stamp, sha256 FROM digest WHERE path = ?", (name,)).fetchone()
        if row is not None and row[0] == stamp:
            return str(row[1])
        hashed_at = time.time_ns()
        with path.open("rb") as stream:
            sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
        if hashed_at - max(status.st_mtime_ns, status.st_ctime_ns) > SETTLED_NS:
            self._connection.execute("INSERT OR REPLACE INTO digest VALUES (?, ?, ?)", (name, stamp, sha256))
        return sha256


def _connect(path: Path) -> sqlite3.Connection:
    """The database, begun anew where it is damaged."""
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
