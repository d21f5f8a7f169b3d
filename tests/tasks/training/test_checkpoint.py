from pathlib import Path

import pytest
import torch

from tasks.training.checkpoint import load_checkpoint, save_checkpoint


def test_a_checkpoint_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    assert load_checkpoint(path) is None
    for epoch in (1, 2):
        save_checkpoint({"epoch": epoch, "weights": torch.ones(2)}, path)
        assert (load_checkpoint(path) or {})["epoch"] == epoch
    assert [file.name for file in tmp_path.iterdir()] == ["checkpoint.pt"]


@pytest.mark.parametrize("content", [b"", b"no checkpoint"])
def test_a_damaged_checkpoint_is_none(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "checkpoint.pt").write_bytes(content)
    assert load_checkpoint(tmp_path / "checkpoint.pt") is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_keeps_the_earlier_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    save_checkpoint({"epoch": 1}, path)
    (tmp_path / "checkpoint.tmp").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint({"epoch": 2}, path)
    assert load_checkpoint(path) == {"epoch": 1}
