"""Stages as cached Prefect tasks: what a stage's key is made of, and the one helper that runs one.

A key covers the inputs' digests, the configuration, the syntax trees of the first-party code that the stage runs, and
the versions of the libraries that shape its answer. Device, workers, batch sizes and paths are `Runtime`, in no key.
"""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Concatenate, Generic, Literal, ParamSpec

import pyarrow as pa
from prefect import Task
from prefect.cache_policies import CacheKeyFnPolicy
from pydantic import BaseModel, ConfigDict, Field

from storage.artifacts import Artifact, find_artifact, folder_of, seconds_of, write_artifact
from storage.models import ModelRef
from storage.source.tree import Source, reader
from storage.workspace import Workspace
from tasks.source import source_digest

P = ParamSpec("P")

NOT_IN_KEY = frozenset({"weights"})  # paths, whose files are in the key by their digest

BY_KEY = CacheKeyFnPolicy(cache_key_fn=lambda _context, parameters: f"{parameters['stage']}-{parameters['key']}")


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
    """What a stage's function works with. The source is in no key: inputs' digests say what is read there."""

    folder: Path
    workspace: Workspace
    source: Source
    runtime: Runtime
    key: str
    stage: str
    seconds: Mapping[str, float]  # what computing each earlier stage took

    def open(self, artifact: Artifact) -> Path:
        """The folder of an input."""
        return folder_of(self.workspace, artifact)

    def reader(self, images: pa.Table) -> Callable[[str], bytes]:
        """Read image files of the collection at hand; `images` has their path and sha256."""
        digests = dict(zip(images["path"].to_pylist(), images["sha256"].to_pylist(), strict=True))
        return reader(self.source.trees()[1], digests)

    @property
    def work(self) -> Path:
        """A folder that outlives a failed run of the same key, for checkpoints."""
        folder = self.workspace.work / self.stage / self.key
        folder.mkdir(parents=True, exist_ok=True)
        return folder


@dataclass(frozen=True)
class Stage(Generic[P]):
    """A stage's function with all that its key has to cover."""

    name: str
    function: Callable[Concatenate[StageRun, P], None]
    libraries: tuple[str, ...]
    resources: tuple[tuple[str, str], ...]
    is_final: Callable[[Path], bool]

    @property
    def label(self) -> str:
        """The name of its Prefect task."""
        return self.function.__name__

    def key(self, *inputs: object) -> str:
        """SHA-256 over stage, inputs, code and library versions, shortened to 32 hexadecimal digits."""
        parts = {
            "stage": f"{self.name}.{self.label}",
            "inputs": [_canonical(value) for value in inputs],
            "source": source_digest(self.function),
            "libraries": {library: _version(library) for library in self.libraries},
            "resources": [files(package).joinpath(name).read_text() for package, name in self.resources],
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _version(library: str) -> str | None:
    """None for an extra that is not installed."""
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
    """Make a function that writes its result into `run.folder` a cached stage.

    Its key covers these libraries' versions, and resources (package, file) that its code reads. A result whose folder
    is not final is computed again the next time.
    """
    return lambda function: Stage(name, function, libraries, resources, is_final)


class StageReport(BaseModel):
    """What running a stage took."""

    model_config = ConfigDict(frozen=True)

    name: str
    cached: bool
    seconds: float


@dataclass
class Runner:
    """Runs stages in one workspace and keeps account of them."""

    workspace: Workspace
    source: Source
    runtime: Runtime
    reports: list[StageReport] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def __call__(self, stage: Stage[P], *args: P.args, **kwargs: P.kwargs) -> Artifact:
        """The stage's artifact: cached where the key is known and its files are whole, else computed."""
        started = time.monotonic()
        key = stage.key(*args, *sorted(kwargs.items()))
        found = find_artifact(self.workspace, stage.name, key)
        whole = found is not None and stage.is_final(folder_of(self.workspace, found))
        cached_task = _prefect_task(stage).with_options(
            result_storage=self.workspace.prefect_results, refresh_cache=not whole
        )

        def fill(folder: Path) -> None:
            stage_run = StageRun(folder, self.workspace, self.source, self.runtime, key, stage.name, self.seconds)
            stage.function(stage_run, *args, **kwargs)

        artifact = cached_task(stage.name, key, self.workspace, fill, whole)
        self.reports.append(StageReport(name=stage.label, cached=whole, seconds=round(time.monotonic() - started, 3)))
        self.seconds[stage.label] = self.seconds.get(stage.label, 0.0) + seconds_of(self.workspace, artifact)
        return artifact


def _prefect_task(stage: Stage[P]) -> Task[[str, str, Workspace, Callable[[Path], None], bool], Artifact]:
    return Task(
        _run_stage,
        name=stage.label,
        task_run_name=f"{stage.label}-{{key}}",
        cache_policy=BY_KEY,
        persist_result=True,
        result_serializer="json",
    )


def _run_stage(stage: str, key: str, workspace: Workspace, fill: Callable[[Path], None], whole: bool) -> Artifact:
    artifact = (find_artifact(workspace, stage, key) if whole else None) or write_artifact(workspace, stage, key, fill)
    shutil.rmtree(workspace.work / stage / key, ignore_errors=True)
    return artifact
