import hashlib
from pathlib import Path

import pytest

from storage.checksum import file_digest


@pytest.mark.parametrize("content", [b"", b"abc", bytes(range(256)) * 5000])
def test_the_digest_is_that_of_the_bytes(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    assert file_digest(tmp_path / "file") == hashlib.sha256(content).hexdigest()


def test_a_missing_file_has_none(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        file_digest(tmp_path / "none")
