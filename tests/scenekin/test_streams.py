"""Commands under launchers that close streams and locales that lack UTF-8."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from PIL import Image

from tests.command import SCENEKIN, Outcome

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def shell(line: str, environment: dict[str, str] | None = None) -> Outcome:
    """Run a line of bash in which `scenekin` is the command."""
    done = subprocess.run(
        ["bash", "-c", f'scenekin() {{ {shlex.quote(str(SCENEKIN))} "$@"; }}; {line}'],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "Fotos Zürich 写真"
    folder.mkdir()
    for name in ("Straße.png", "犬.png"):
        Image.effect_noise((32, 32), 60).convert("RGB").save(folder / name)
    return folder


@pytest.mark.parametrize("closed", ["2>&-", "<&-", "<&- 2>&-", "2>&1 <&-", "2>/dev/full", "2> >(true)"])
def test_closed_streams_change_nothing(collection: Path, closed: str) -> None:
    outcome = shell(f"scenekin check {shlex.quote(str(collection))} --json {closed}")
    assert (outcome.code, json.loads(outcome.out.splitlines()[-1])["usable"]) == (0, 2)


def test_a_reader_may_stop_after_a_part(collection: Path) -> None:
    line = f"scenekin check {shlex.quote(str(collection))} --json 2>&- | head -c 9; exit ${{PIPESTATUS[0]}}"
    for _ in range(3):
        assert shell(line) == Outcome(0, '{"format"', "")


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_closed_output_is_no_error(collection: Path, closed: str) -> None:
    folder = shlex.quote(str(collection))
    assert shell(f"scenekin check {folder} {closed}").code == 0
    assert shell(f"scenekin check {folder}/none {closed}").code == 1


def test_messages_are_never_written_into_a_file_that_took_a_closed_stream(collection: Path) -> None:
    before = {path: path.read_bytes() for path in collection.iterdir()}
    assert shell(f"scenekin check {shlex.quote(str(collection))} --format nothing <&- >&- 2>&-").code == 2
    assert {path: path.read_bytes() for path in collection.iterdir()} == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("command", ["--help", "check --help", "--version", "--quiet check ."])
def test_a_full_disk_under_the_output_is_a_sentence(collection: Path, command: str) -> None:
    outcome = shell(f"cd {shlex.quote(str(collection))}; scenekin {command} > /dev/full")
    assert (outcome.code, outcome.err) == (1, "scenekin: Cannot read or write: No space left on device.\n")


def test_a_deleted_current_folder_is_a_sentence(collection: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    line = f"mkdir {gone}; cd {gone}; rmdir {gone}; scenekin check {shlex.quote(str(collection))}"
    assert shell(line).sentence == "scenekin: The current folder no longer exists; change to another one."


def test_a_locale_without_utf8_reads_any_file_name(collection: Path) -> None:
    outcome = shell(f"scenekin check {shlex.quote(str(collection))} --json", ASCII)
    answer = json.loads(outcome.out)
    assert (outcome.code, answer["usable"], answer["problems"]) == (0, 2, [])
    name = shlex.quote(str(collection / "none 犬"))
    assert "none 犬" in shell(f"scenekin check {name}", ASCII).sentence
    assert shell("scenekin --version", ASCII).out.startswith("scenekin ")
