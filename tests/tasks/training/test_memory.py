from pathlib import Path

import pytest

from tasks.training import memory


@pytest.mark.parametrize(("limit", "usable"), [("1048576\n", 1 << 20), ("max\n", 1 << 40), (None, 1 << 40)])
def test_a_container_may_have_less_than_its_machine(
    limit: str | None, usable: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "CONTAINER", file)
    monkeypatch.setattr("psutil.virtual_memory", lambda: type("Memory", (), {"total": 1 << 40}))
    if limit is not None:
        file.write_text(limit)
    assert memory.usable_memory() == usable
