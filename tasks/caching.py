"""Cached stages: what makes up a stage's key, and the runner that computes a stage or reuses its artifact.

A key covers the digests of the inputs, the settings, the syntax trees of the first-party code that the stage runs, and
the versions of the libraries that shape its result. Device, workers, batch sizes and paths are `Runtime` and are not
part of any key. The artifact's folder is the only record of a result; nothing else is read back.
"""

import hashlib
import json
import logging
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from storage.artifacts import Artifact, find_artifact, folder_of, seconds_of, write_artifact
from storage.models import ModelRef
from storage.source.tree import Source, reader
from storage.workspace import Workspace
from tasks.source import source_digest

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger("scenekin.stages")

NOT_IN_KEY = frozenset({"weights"})  # a path; the digest of its file is in the key


class Runtime(BaseModel):
    """Settings that change where and how fast a stage runs, never its result."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    device: Literal["auto", "cuda", "mps", "cpu"] = Field(
        default="auto", description="auto, cuda, mps or cpu; auto prefers a GPU."
    )
    workers: int = Field(default=2, ge=1, description="Threads that decode images.")
    batch_size: int = Field(default=32, ge=1, description="Images in a batch of the network.")
    block_size: int = Field(default=512, ge=1, description="Rows in a block of the neighbour search.")
    dask: bool = Field(default=True, description="Spread the neighbour search of large collections with Dask.")


@dataclass(frozen=True)
class StageRun:
    """The context of a running stage. The inputs' digests cover what is read from the source, so no key holds it."""

    folder: Path
    workspace: Workspace
    source: Source
    runtime: Runtime
    key: str
    stage: str
    seconds: Mapping[str, float]  # time spent computing each earlier stage

    def open(self, artifact: Artifact) -> Path:
        """The folder of an input."""
        return folder_of(self.workspace, artifact)

    def reader(self, images: pa.Table) -> Callable[[str], bytes]:
        """Return a function that reads the collection's image files; `images` has their path and sha256."""
        digests = dict(zip(images["path"].to_pylist(), images["sha256"].to_pylist(), strict=True))
        return reader(self.source.trees()[1], digests)

    @property
    def work(self) -> Path:
        """A folder for checkpoints that survives a failed run of the same key."""
        folder = self.workspace.work / self.stage / self.key
        folder.mkdir(parents=True, exist_ok=True)
        return folder


@dataclass(frozen=True)
class Stage(Generic[P]):
    """A stage's function and everything that its key has to cover."""

    name: str
    function: Callable[Concatenate[StageRun, P], None]
    libraries: tuple[str, ...]
    resources: tuple[tuple[str, str], ...]
    is_final: Callable[[Path], bool]

    @property
    def label(self) -> str:
        """The name shown in reports, logs and Prefect."""
        return self.function.__name__

    def key(self, *inputs: object) -> str:
        """Return the SHA-256 of stage, inputs, code and library versions, shortened to 32 hexadecimal digits."""
        parts = {
            "stage": f"{self.name}.{self.label}",
            "inputs": [_canonical(value) for value in inputs],
            "source": source_digest(self.function),
            "libraries": {library: _version(library) for library in self.libraries},
            "resources": [
                files(package).joinpath(name).read_text(encoding="utf-8") for package, name in self.resources
            ],
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _version(library: str) -> str | None:
    """Return the installed version, or None for an extra that is not installed."""
    with suppress(PackageNotFoundError):
        return version(library)
    return None


def _canonical(value: object) -> object:
    if isinstance(value, Artifact | ModelRef):
        return value.digest
    if isinstance(value, BaseModel):
        return {name: _canonical(item) for name, item in value if name not in NOT_IN_KEY}
    if isinstance(value, Mapping):
        return {str(name): _canonical(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [_canonical(item) for item in value]
    if isinstance(value, str | int | float | bool | None):
        return value
    raise TypeError(f"a {type(value).__name__} has no stable key")


def stage(
    name: str,
    *,
    libraries: tuple[str, ...] = (),
    resources: tuple[tuple[str, str], ...] = (),
    is_final: Callable[[Path], bool] = lambda _: True,
) -> Callable[[Callable[Concatenate[StageRun, P], None]], Stage[P]]:
    """Turn a function that writes its result into `run.folder` into a cached stage.

    The key covers the versions of `libraries` and the contents of `resources` (package, file). An artifact whose
    folder is not final is computed again on the next run.
    """
    return lambda function: Stage(name, function, libraries, resources, is_final)


class StageReport(BaseModel):
    """Whether a stage was cached, and the seconds that running it took."""

    model_config = ConfigDict(frozen=True)

    name: str
    cached: bool
    seconds: float


class Execute(Protocol):
    """Runs one step of a flow under its name; `cached` says that its result exists already."""

    def __call__(self, name: str, step: Callable[[], T], /, *, cached: bool = False) -> T:
        """Return the step's result."""


def run_directly(_name: str, step: Callable[[], T], /, *, cached: bool = False) -> T:  # noqa: ARG001  as Execute
    """Run a step as a plain function call: no server, no records."""
    return step()


EXECUTE: ContextVar[Execute] = ContextVar("EXECUTE", default=run_directly)
"""How the steps of a flow run: directly, or as Prefect tasks in a deployed flow (`flows.deployed`)."""


@dataclass
class Runner:
    """Runs the steps of a flow in one workspace and keeps a report of its stages."""

    workspace: Workspace
    source: Source
    runtime: Runtime
    reports: list[StageReport] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def __call__(self, stage: Stage[P], *args: P.args, **kwargs: P.kwargs) -> Artifact:
        """Return the stage's artifact: reused if the key is known and its files are intact, else computed."""
        started = time.monotonic()
        key = stage.key(*args, *sorted(kwargs.items()))
        found = find_artifact(self.workspace, stage.name, key)
        if found is not None and not stage.is_final(folder_of(self.workspace, found)):
            found = None

        def fill(folder: Path) -> None:
            stage_run = StageRun(folder, self.workspace, self.source, self.runtime, key, stage.name, self.seconds)
            stage.function(stage_run, *args, **kwargs)

        def step() -> Artifact:
            artifact = found or write_artifact(self.workspace, stage.name, key, fill)
            shutil.rmtree(self.workspace.work / stage.name / key, ignore_errors=True)
            return artifact

        artifact = EXECUTE.get()(stage.label, step, cached=found is not None)
        report = StageReport(name=stage.label, cached=found is not None, seconds=round(time.monotonic() - started, 3))
        log.info("%s: %s in %.1f s", report.name, "reused" if report.cached else "computed", report.seconds)
        self.reports.append(report)
        self.seconds[stage.label] = self.seconds.get(stage.label, 0.0) + seconds_of(self.workspace, artifact)
        return artifact

    def action(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a step that is not cached, such as publishing or registration."""
        return EXECUTE.get()(function.__name__, partial(function, *args, **kwargs))
