"""Every script under benchmarks/ still runs, on a tiny amount of data."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.trained import Trained

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
HELPERS = {"rounds", "sample_images"}
QUICK = {
    "acceleration": ("--batch", "1", "--size", "64", "--rounds", "1"),
    "decoding": ("--images", "2", "--large", "1", "--size", "64", "--rounds", "1"),
    "embedding": ("--images", "4", "--size", "64", "--rounds", "1"),
    "gpu": ("--device", "cpu", "--images", "4", "--batch", "2", "--workers", "1", "--size", "64", "--rounds", "1"),
    "finetuning": ("--images", "16", "--size", "64", "--rounds", "1", "--updates", "1", "--batch", "4"),
    "mining": ("--pool", "64", "--queries", "16", "--dimension", "8", "--hardest", "5", "--rounds", "1"),
    "neighbours": ("--images", "100", "--stems", "50", "--rounds", "1"),
    "searching": ("--threads", "1", "--rounds", "1", "--sizes", "200x8"),
}
RESULT = {
    "acceleration": "images/s",
    "decoding": "pictures/s",
    "embedding": "ratio",
    "finetuning": "overhead",
    "gpu": "fine-tuning",
    "mining": "mine / matrix product",
    "neighbours": "nearest_neighbours",
    "searching": "100.00%",
}
SLOW = {"fuzz", "load", "paper_table", "updating", "visual_genome"}


def test_every_script_is_run() -> None:
    assert {path.stem for path in BENCHMARKS.glob("*.py")} - HELPERS == QUICK.keys() | SLOW


@pytest.mark.parametrize("name", QUICK)
def test_a_script_prints_its_result(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    script, threads = str(BENCHMARKS / f"{name}.py"), torch.get_num_threads()
    monkeypatch.setattr(sys, "argv", [script, *QUICK[name]])
    runpy.run_path(script, run_name="__main__")
    torch.set_num_threads(threads)
    assert RESULT[name] in capsys.readouterr().out


def run_script(name: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, BENCHMARKS / f"{name}.py", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(BENCHMARKS.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_reading_visual_genome_is_compared_with_loading_it() -> None:
    assert [line.split()[0] for line in run_script("visual_genome", "--images", 20, "--regions", 2).splitlines()] == [
        *("20", "seconds", "json.load", "reader", "check"),
    ]


def test_broken_pictures_and_requests_are_refused(trained: Trained) -> None:
    pictures = run_script("fuzz", "pictures", "--count", 100)
    requests = run_script("fuzz", "requests", "--count", 100, "--sockets", 0, "--workspace", trained.workspace)
    assert "pictures: 100 in" in pictures
    assert "requests: 100 in" in requests
    assert all("0 failures" in printed for printed in (pictures, requests))


@pytest.mark.slow
def test_a_server_is_put_under_load(trained: Trained) -> None:
    printed = run_script("load", "--workspace", trained.workspace, "--clients", 8, "--seconds", 3)
    rows = [line.split() for line in printed.splitlines()[2:6]]
    assert [row[0] for row in rows] == ["search", "picture", "upload", "explain"]
    assert all(int(errors) == 0 for _, _, _, errors, *_ in rows)
    assert "peak memory" in printed


@pytest.mark.slow
def test_updating_an_index_is_compared_with_building_it() -> None:
    printed = run_script("updating", "--images", 64, "--changed", 4)
    assert all(label in printed for label in ("build", "4 changed", "1 changed", "nothing changed"))


@pytest.mark.slow
def test_the_papers_table_has_a_row_per_method(trained_copy: Trained) -> None:
    where = ("--config", trained_copy.config, "--workspace", trained_copy.workspace)
    printed = run_script("paper_table", trained_copy.collection, *where, "--seeds", 0, 1)
    assert all(label in printed for label in ("(V,V)", "regression", "±"))
