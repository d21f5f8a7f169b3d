import hashlib
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pytest
from pydantic import BaseModel, ConfigDict

from flows.config import Config
from storage.artifacts import Artifact, folder_of
from storage.models import ModelRef
from storage.source.tree import ChangedFile, Source
from storage.workspace import Workspace
from tasks import caching
from tasks.caching import EXECUTE, Runner, Runtime, StageRun, stage

T = TypeVar("T")

CALLS: list[tuple[object, ...]] = []
ARTIFACT = Artifact(stage="earlier", key="k", digest="d")


class Backbone(BaseModel):
    model_config = ConfigDict(frozen=True)

    name: str = "net"
    weights: str | None = None


class Settings(BaseModel):
    model_config = ConfigDict(frozen=True)

    backbone: Backbone = Backbone()
    sizes: tuple[int, ...] = (1, 2)


@stage("sample", libraries=("numpy", "pyarrow"))
def sample(run: StageRun, *inputs: object) -> None:
    """Write what it was given, and remember that it ran."""
    CALLS.append(inputs)
    (run.folder / "answer.txt").write_text(repr(inputs))
    (run.folder / "seconds.txt").write_text(repr(sorted(run.seconds)))


@stage("sample", libraries=("numpy", "pyarrow"))
def failing(run: StageRun, *inputs: object) -> None:
    """Fail halfway, with the work so far kept."""
    CALLS.append(inputs)
    (run.folder / "half.txt").write_text("half")
    (run.work / "checkpoint").write_text("kept")
    raise ZeroDivisionError


@pytest.fixture(autouse=True)
def calls() -> None:
    CALLS.clear()


def leaves(value: object, name: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*name, key))
    else:
        yield name


def changed(model: BaseModel, name: tuple[str, ...]) -> BaseModel:
    """The model with another value, valid or not, in one field."""
    first, *rest = name
    value: Any = getattr(model, first)
    if rest and isinstance(value, tuple):  # of one network
        return model.model_copy(update={first: (changed(value[0], tuple(rest)),)})
    if rest:
        return model.model_copy(update={first: changed(value, tuple(rest))})
    return model.model_copy(update={first: f"not {value}" if isinstance(value, str | None) else (value, 1)})


@pytest.mark.parametrize("name", [name for name in leaves(Config().model_dump()) if name[0] != "runtime"])
def test_every_setting_counts_but_the_path_of_a_weights_file(name: tuple[str, ...]) -> None:
    other = changed(Config(), name)
    assert other != Config()
    assert (sample.key(other) == sample.key(Config())) == (name[-1] == "weights")


def test_a_run_elsewhere_and_faster_has_the_same_key() -> None:
    here = Config(runtime=Runtime(device="cpu", workers=1, batch_size=8, block_size=9, dask=False))
    assert sample.key(here.result_settings()) == sample.key(Config().result_settings())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ARTIFACT, ARTIFACT.model_copy(update={"digest": "e"})),
        (ModelRef(path="models/a", digest="a"), ModelRef(path="models/a", digest="b")),
        ({"a": ARTIFACT}, {"b": ARTIFACT}),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
        ((1, 2), (2, 1)),
        ((1, (2,)), ((1,), 2)),
        ("a", "b"),
        (None, "None"),
        (1, "1"),
        (1, True),
        (1, 1.5),
        (Settings(), Settings(sizes=(1, 3))),
        (Settings(), Settings(backbone=Backbone(name="other"))),
    ],
)
def test_another_input_gives_another_key(one: object, other: object) -> None:
    assert sample.key(one) != sample.key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ARTIFACT, ARTIFACT.model_copy(update={"key": "elsewhere"})),
        (ModelRef(path="artifacts/x", digest="a"), ModelRef(path="models/a", digest="a")),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ([1, 2], (1, 2)),
        (Settings(), Settings(backbone=Backbone(weights="/somewhere/weights.pt"))),
    ],
)
def test_what_is_the_same_has_the_same_key(one: object, other: object) -> None:
    assert sample.key(one) == sample.key(other)


@pytest.mark.parametrize("value", [Path("x"), {1, 2}, b"bytes", object(), {"deep": [Path("x")]}])
def test_a_value_without_a_stable_key_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="has no stable key"):
        sample.key(value)


def test_inputs_are_told_apart_by_place_and_stages_by_name() -> None:
    assert len({sample.key(), sample.key(1), sample.key(1, 1), sample.key((1, 1)), failing.key()}) == 5


@pytest.mark.parametrize("library", sample.libraries)
def test_a_library_that_shapes_the_answer_counts(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before, version = sample.key(1), caching.version
    monkeypatch.setattr(caching, "version", lambda name: version(name) + ".1" * (name == "nltk"))
    assert sample.key(1) == before
    monkeypatch.setattr(caching, "version", lambda name: version(name) + ".1" * (name == library))
    assert sample.key(1) != before


def test_the_code_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    before, digest = sample.key(1), caching.source_digest
    monkeypatch.setattr(caching, "source_digest", lambda function: digest(function) + function.__name__)
    assert sample.key(1) != before


def answer(runner: Runner, artifact: Artifact) -> str:
    return (folder_of(runner.workspace, artifact) / "answer.txt").read_text()


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_the_same_key_runs_once_wherever_and_however(workspace: Workspace) -> None:
    first, second = (
        Runner(workspace, Source("/somewhere"), Runtime()),
        Runner(workspace, Source("/elsewhere"), Runtime(workers=7)),
    )
    artifact = first(sample, "a", ARTIFACT)
    assert second(sample, "a", ARTIFACT) == artifact
    assert CALLS == [("a", ARTIFACT)]
    assert answer(first, artifact) == repr(CALLS[0])
    assert [report.cached for report in (*first.reports, *second.reports)] == [False, True]
    assert second.reports[0].name == "sample"
    first(sample, "b", ARTIFACT)
    assert len(CALLS) == 2


def test_a_hit_whose_files_are_gone_is_a_miss(workspace: Workspace) -> None:
    artifact = Runner(workspace, Source("/somewhere"), Runtime())(sample, "a")
    folder = folder_of(workspace, artifact)
    damages = [
        (folder / "answer.txt").unlink,
        lambda: (folder / "answer.txt").write_text("shorter"),
        lambda: shutil.rmtree(workspace.artifacts),
    ]
    for calls, damage in enumerate(damages, start=2):
        damage()
        runner = Runner(workspace, Source("/somewhere"), Runtime())
        assert runner(sample, "a") == artifact
        assert answer(runner, artifact) == repr(("a",))
        assert len(CALLS) == calls
        assert not runner.reports[-1].cached


def test_steps_run_as_the_context_says(workspace: Workspace) -> None:
    steps: list[tuple[str, bool]] = []

    def record(name: str, step: Callable[[], T], /, *, cached: bool = False) -> T:
        steps.append((name, cached))
        return step()

    token = EXECUTE.set(record)
    try:
        runner = Runner(workspace, Source("/somewhere"), Runtime())
        assert runner(sample, "a") == runner(sample, "a")
        assert runner.action(max, 1, 2) == 2
    finally:
        EXECUTE.reset(token)
    assert steps == [("sample", False), ("sample", True), ("max", False)]
    assert len(CALLS) == 1


def test_the_log_names_stage_and_seconds(workspace: Workspace, caplog: pytest.LogCaptureFixture) -> None:
    runner = Runner(workspace, Source("/somewhere"), Runtime())
    with caplog.at_level("INFO", "scenekin"):
        runner(sample, "a")
        runner(sample, "a")
    assert [re.sub(r"[\d.]+ s", "", message) for message in caplog.messages] == [
        "sample: computed in ",
        "sample: reused in ",
    ]


def test_a_failure_is_raised_and_leaves_only_its_checkpoint(workspace: Workspace) -> None:
    runner = Runner(workspace, Source("/somewhere"), Runtime())
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            runner(failing, 1)
    assert len(CALLS) == 2
    assert not list((workspace.artifacts / "sample").iterdir())
    assert (workspace.work / "sample" / failing.key(1) / "checkpoint").read_text() == "kept"
    assert runner.reports == []


def test_a_stage_knows_how_long_the_earlier_ones_took(workspace: Workspace) -> None:
    for _ in range(2):  # computed, then cached
        runner = Runner(workspace, Source("/somewhere"), Runtime())
        runner(sample, 1)
        later = runner(sample, 2)
        assert (folder_of(workspace, later) / "seconds.txt").read_text() == "['sample']"


def test_a_stage_reads_its_inputs_and_images_that_have_not_changed(workspace: Workspace, tmp_path: Path) -> None:
    source = tmp_path / "collection"
    source.mkdir()
    (source / "a.jpg").write_bytes(b"first")
    run = StageRun(tmp_path, workspace, Source(str(source)), Runtime(), "key", "sample", {})
    images = pa.table({"path": ["a.jpg"], "sha256": [hashlib.sha256(b"first").hexdigest()]})
    assert run.open(ARTIFACT) == folder_of(workspace, ARTIFACT)
    assert run.reader(images)("a.jpg") == b"first"
    (source / "a.jpg").write_bytes(b"other")
    with pytest.raises(ChangedFile, match=r"a\.jpg"):
        run.reader(images)("a.jpg")


def test_mappings_of_inputs_are_read_in_any_order() -> None:
    def key(models: Mapping[str, Artifact]) -> str:
        return sample.key(models)

    two = {"v_v": ARTIFACT, "regression": ARTIFACT.model_copy(update={"digest": "e"})}
    assert key(two) == key(dict(reversed(two.items())))
