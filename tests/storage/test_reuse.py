import os
import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest

from storage.artifacts import write_artifact
from storage.reuse import known_rows
from storage.tables import read_batches, write_table
from storage.workspace import Workspace

FILE = "features.parquet"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def keep(workspace: Workspace, key: str, rows: dict[str, float], recipe: str = "r", file: str = FILE) -> None:
    table = pa.table({"sha256": list(rows), "gap": list(rows.values())}).replace_schema_metadata({"recipe": recipe})
    write_artifact(workspace, "features", key, lambda folder: write_table(folder / file, table))


def found(workspace: Workspace, *wanted: str, recipe: str = "r") -> list[tuple[str, float]]:
    batches = known_rows(workspace, "features", FILE, recipe, set(wanted))
    return [(row["sha256"], row["gap"]) for batch in batches for row in batch.to_pylist()]


def test_wanted_rows_come_once_from_all_files(workspace: Workspace) -> None:
    keep(workspace, "k1", {"a": 1, "b": 2})
    keep(workspace, "k2", {"b": 2, "c": 3, "d": 4})
    assert sorted(found(workspace, "b", "c", "x")) == [("b", 2), ("c", 3)]
    assert found(workspace) == found(workspace, "x") == []


def test_another_recipe_is_of_no_use(workspace: Workspace) -> None:
    keep(workspace, "k1", {"a": 1}, recipe="old")
    keep(workspace, "k2", {"a": 2})
    assert found(workspace, "a") == [("a", 2)]
    assert found(workspace, "a", recipe="new") == []


def test_the_wanted_set_stays_as_it_is(workspace: Workspace) -> None:
    keep(workspace, "k1", {"a": 1})
    wanted = {"a", "b"}
    list(known_rows(workspace, "features", FILE, "r", wanted))
    assert wanted == {"a", "b"}


def test_nothing_is_known_in_an_empty_workspace(workspace: Workspace) -> None:
    assert found(workspace, "a") == []


def test_unfinished_and_damaged_artifacts_are_left_alone(workspace: Workspace) -> None:
    keep(workspace, "k1", {"a": 1, "b": 2})
    keep(workspace, "k2", {"a": 1})
    keep(workspace, "k3", {"a": 1}, file="other.parquet")
    damaged = workspace.artifacts / "features" / "k1" / FILE
    damaged.write_bytes(damaged.read_bytes()[:20])
    unfinished = workspace.artifacts / "features" / ".k4.123.tmp"
    unfinished.mkdir()
    (unfinished / FILE).write_bytes(b"PAR1")
    assert found(workspace, "a", "b") == [("a", 1)]


def test_a_stage_may_ask_while_it_writes_its_own_file(workspace: Workspace) -> None:
    keep(workspace, "k1", {"a": 1})
    asked: list[tuple[str, float]] = []

    def fill(folder: Path) -> None:
        (folder / FILE).write_bytes(b"PAR1")
        asked.extend(found(workspace, "a"))

    write_artifact(workspace, "features", "k2", fill)
    assert asked == [("a", 1)]


def test_the_newest_is_asked_first_and_what_has_nothing_new_is_not_read(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def noted(path: Path, columns: list[str]) -> Iterable[pa.RecordBatch]:
        read.append(path.parent.name)
        return read_batches(path, columns)

    monkeypatch.setattr("storage.reuse.read_batches", noted)
    for newness, (key, rows) in enumerate({"k1": {"a": 1.0, "b": 1}, "k3": {"a": 2}, "k2": {"a": 3, "c": 3}}.items()):
        keep(workspace, key, rows)
        os.utime(workspace.artifacts / "features" / key / "artifact.json", (newness, newness))
    assert found(workspace, "a", "b", "x") == [("a", 3), ("b", 1)]
    assert read == ["k2", "k1"]


def test_a_value_that_a_file_has_twice_comes_once(workspace: Workspace) -> None:
    table = pa.table({"sha256": ["a", "b", "a"], "gap": [1.0, 2.0, 1.0]}).replace_schema_metadata({"recipe": "r"})
    write_artifact(workspace, "features", "k1", lambda folder: write_table(folder / FILE, table))
    assert sorted(found(workspace, "a", "b")) == [("a", 1), ("b", 2)]


def test_the_time_grows_linearly_with_the_rows(workspace: Workspace) -> None:
    def seconds(rows: int) -> float:
        wanted = {f"{row:064}" for row in range(rows)}
        keep(workspace, f"k{rows}", dict.fromkeys(sorted(wanted), 1.0))
        started = time.process_time()
        assert sum(batch.num_rows for batch in known_rows(workspace, "features", FILE, "r", wanted)) == rows
        return time.process_time() - started

    small, large = seconds(20_000), seconds(160_000)
    assert large < 20 * small  # it was 64 times as long when the missing digests were sorted for each batch
