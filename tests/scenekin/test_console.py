"""Global options, and the lines that commands share."""

import logging
from importlib.metadata import version
from pathlib import Path

import pytest

from scenekin import Searcher
from scenekin.commands.index import index_text
from scenekin.console import image_text, refusal_lines
from tests.command import scenekin, scenekin_process
from tests.trained import Trained


def test_the_version_is_printed() -> None:
    assert scenekin("--version").out == f"scenekin {version('scenekin')}\n"


def test_verbose_logs_and_quiet_prints_results_alone(trained: Trained) -> None:
    command = "search", "--id", "extra/copy.jpg", "--add", "zeppelin", "--workspace", trained.workspace
    usual, verbose, quiet = (scenekin(*option, *command) for option in ([], ["--verbose"], ["--quiet"]))
    assert usual.out == verbose.out == quiet.out
    assert "zeppelin" in usual.err
    assert "Opened index main version 1: 141 images" not in usual.err
    assert "Opened index main version 1: 141 images" in verbose.err
    assert quiet.err == ""
    for option, outcome in (("--verbose", verbose), ("--quiet", quiet)):
        after = scenekin(*command, option)
        assert after.out == usual.out
        assert [line.split(" ", 2)[-1] for line in after.err.splitlines()] == [
            line.split(" ", 2)[-1] for line in outcome.err.splitlines()
        ]
    for both in (["--verbose", "--quiet", *command], [*command, "--quiet", "--verbose"]):
        assert "--quiet and --verbose cannot be used together." in scenekin(*both).usage_error


@pytest.mark.parametrize("command", ["search", "check", "config", "demo"])
def test_the_help_of_a_command_shows_logging_options_once(command: str) -> None:
    lines = scenekin(command, "--help").out.splitlines()
    shown = [line.split()[1] for line in lines if "--verbose" in line or "--quiet" in line]
    assert shown == ["--verbose", "--quiet"]


def test_verbose_logs_no_library_s_messages(trained: Trained) -> None:
    image = sorted((trained.collection / "test").glob("*.jpg"))[0]
    done = scenekin_process("--verbose", "search", image, "--workspace", trained.workspace, "--json")
    assert done.answer["results"]
    assert {line.split(" ", 2)[2].split()[0] for line in done.err.splitlines()} == {"Opened", "Loading"}


def test_quiet_shows_no_progress_but_errors(trained: Trained, tmp_path: Path) -> None:
    command = "search", "--ids", "all", "--workspace", trained.workspace, "--out"
    assert "searching: 141 in" in scenekin(*command, tmp_path / "out.csv").err
    assert scenekin("--quiet", *command, tmp_path / "out.csv").err == ""
    assert scenekin("--quiet", *command, tmp_path / "none" / "out.csv").sentence


def test_a_strength_without_words_is_noted(trained: Trained) -> None:
    command = "search", "--id", "extra/copy.jpg", "--workspace", trained.workspace
    assert "--alpha has no effect without --add.\n" in scenekin(*command, "--alpha", 2).err
    assert "--beta has no effect without --remove.\n" in scenekin(*command, "--beta", 2, "--add", "boat").err
    assert "no effect" not in scenekin(*command, "--alpha", 2, "--add", "boat").err


def test_commands_leave_other_loggers_alone(trained: Trained) -> None:
    before = logging.getLogger().handlers[:]
    scenekin("--verbose", "search", "--id", "extra/copy.jpg", "--workspace", trained.workspace)
    assert logging.getLogger().handlers == before


def test_completion_can_be_installed() -> None:
    assert "_SCENEKIN_COMPLETE" in scenekin_process(environment={"_SCENEKIN_COMPLETE": "source_bash"}).out


@pytest.mark.parametrize("count", [0, 1, 3, 4, 15])
def test_refusals_are_summarised(count: int) -> None:
    lines = refusal_lines([{"item": f"{number}.jpg", "reason": "empty file"} for number in range(count)])
    shown = count if count <= 4 else 3  # one more line may as well be the last refusal
    assert lines[:shown] == [f"  refused {number}.jpg: empty file" for number in range(shown)]
    assert lines[shown:] == ([f"  and {count - 3} more; --json lists all"] if count > 4 else [])


def test_an_image_is_shown_by_path_id_and_caption(trained: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = Searcher.open(trained.workspace)
    monkeypatch.chdir(trained.collection)
    assert image_text(searcher, "extra/copy.jpg") == "extra/copy.jpg"
    monkeypatch.setattr(searcher, "caption_of", lambda _: "A dog " * 20)
    shown = image_text(searcher, "extra/copy.jpg")
    assert shown == f'extra/copy.jpg  "{("A dog " * 20)[:57].rstrip()}..."'
    searcher.image_ids[0], searcher.row_of["139"] = "139", 0
    searcher.manifest = searcher.manifest.model_copy(update={"images_root": "s3://bucket/photos/"})
    assert image_text(searcher, "139").startswith("s3://bucket/photos/extra/copy.jpg  (id 139)")


def test_indexing_again_counts_refusals_that_are_known(trained_copy: Trained) -> None:
    command = "index", trained_copy.collection, "--name", "copy", "--workspace", trained_copy.workspace
    first = scenekin(*command).out
    assert "Index copy version 1: 141 images (141 added), 1 refused, " in first
    assert "  refused train/zz-broken.jpg: not an image, or of an unknown type" in first
    again = scenekin(*command).out
    assert "zz-broken.jpg" not in again
    assert "Index copy version 1: 141 images (no changes), 1 refused, " in again
    assert "  1 refused as before; --json lists all\n" in again
    (trained_copy.collection / "extra" / "torn.jpg").write_bytes(b"")
    third = scenekin(*command).out
    assert "  refused extra/torn.jpg: empty file\n" in third
    assert "  1 refused as before; --json lists all\n" in third
    assert len(scenekin(*command, "--json").answer["refused"]) == 2


@pytest.mark.parametrize(
    ("counts", "changes"),
    [
        ({"added": 1, "changed": 2, "renamed": 10}, "1 added, 2 changed, 10 renamed"),
        ({}, "no changes"),
        ({"captioned": 1276, "captioned_before": 1}, "1,275 more with captions"),
        ({"captioned_before": 3, "model_before": 2}, "3 fewer with captions, model 1 instead of model 2"),
    ],
)
def test_what_changed_is_counted(counts: dict[str, int], changes: str) -> None:
    from flows.results import IndexResult, ModelVersion

    none = dict.fromkeys(("added", "changed", "renamed", "removed", "unchanged", "captioned", "captioned_before"), 0)
    result = IndexResult(
        index={"name": "main", "version": 2, "images": 20, "model_before": 1, **none, **counts},
        model=ModelVersion(name="scenekin", version=1),
        refused=[],
        problem_counts={"no-caption": 1200, "bad-row": 1},
        seconds=1.5,
        stages=[],
    )
    assert index_text(result).splitlines() == [
        f"Index main version 2: 20 images ({changes}), 0 refused, 1.5 s",
        "  problems: 1,200 no-caption, 1 bad-row; `scenekin check` lists them",
    ]


def test_names_without_an_image_are_counted_apart_from_images_that_are_refused() -> None:
    from flows.results import IndexResult, ModelVersion

    counts = {"name": "main", "version": 1, "images": 20, "added": 20, "unchanged": 0}
    broken = {"item": "a.jpg", "reason": "empty file", "kind": "unreadable-image"}
    gone = [
        {"item": f"{number}.jpg", "reason": "no such file", "kind": kind}
        for number, kind in enumerate(["missing-image", "ambiguous-name"])
    ]
    result = IndexResult(
        index={**counts, "changed": 0, "renamed": 0, "removed": 0},
        model=ModelVersion(name="scenekin", version=1),
        refused=[*gone, broken],
        problem_counts={},
        seconds=1.5,
        stages=[],
    )
    assert index_text(result).splitlines() == [
        "Index main version 1: 20 images (20 added), 1 refused, 1.5 s",
        "  refused a.jpg: empty file",
        "  2 names in the collection have no image, such as 0.jpg; `scenekin check` lists them",
    ]
    again = index_text(result.model_copy(update={"refused": [broken, gone[0]]}), [{**broken, "kind": "other"}])
    assert again.splitlines()[1:] == [
        "  1 refused as before; --json lists all",
        "  1 name in the collection has no image, such as 0.jpg; `scenekin check` lists them",
    ]
