"""A collection that a workspace was trained on, and how tests change it and look at what runs again."""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from mlflow.entities import Run
from mlflow.tracking import MlflowClient
from PIL import Image, ImageOps

from tests.command import Outcome, scenekin

STEPS = {
    "collection": "read_collection",
    "vocabulary": "build_vocabulary",
    "train features": "extract_features",
    "validation features": "extract_features",
    "neighbours": "find_neighbours",
    "ridge": "train_regression_head",
    "triplets": "train_triplet_head",
    "triplets embed": "embed_features",
    "ridge embeds": "embed_features",
    "evaluation": "evaluate",
    "report": "write_report",
}
"""The stages of train-flow in their order, under names of their own."""

QUICK: dict[str, Any] = {
    "candidates": ["v_v", "regression"],
    "backbone": {"name": "efficientnet_lite0", "size": 96},
    "v_v": {
        "dimension": 24,
        "queries": 60,
        "relevant": 4,
        "hardest": 50,
        "batch": 32,
        "updates": 8,
        "refreshes": 3,
    },
    "regression": {"dimension": 24, "penalties": [1, 10]},
}
"""Settings with which training takes seconds."""


@dataclass(frozen=True)
class Trained:
    """A workspace with a model trained by QUICK settings on a collection in the imagefolder format."""

    workspace: Path
    collection: Path
    config: Path

    def copy(self, folder: Path) -> "Trained":
        """Both somewhere else, to be changed. MLflow's database goes on naming the files of the first."""
        not_mlflow = shutil.ignore_patterns("mlflow")
        shutil.copytree(self.workspace, folder / "workspace", ignore=not_mlflow, copy_function=_copy_or_link)
        shutil.copytree(self.collection, folder / "collection")
        return Trained(folder / "workspace", folder / "collection", self.config)

    def run(self, command: str, *arguments: object) -> Outcome:
        """A command on the collection with `--json`."""
        return scenekin(command, self.collection, *arguments, "--workspace", self.workspace, "--json")

    def train(self, *assignments: str) -> Outcome:
        """Train with the QUICK settings, changed by assignments."""
        changes = [word for assignment in assignments for word in ("--set", assignment)]
        return self.run("train", "--config", self.config, *changes)

    def training_runs(self) -> list[Run]:
        """All MLflow runs, the newest first."""
        client = mlflow_client(self.workspace)
        return list(client.search_runs([client.get_experiment_by_name("scenekin").experiment_id]))


def _copy_or_link(source: str, target: str) -> object:
    """Weights are large and never written over."""
    return os.link(source, target) if source.endswith(".safetensors") else shutil.copy2(source, target)


def mlflow_client(workspace: Path) -> MlflowClient:
    """A client of a workspace's tracking store and registry."""
    uri = f"sqlite:///{workspace / 'mlflow.db'}"
    return MlflowClient(tracking_uri=uri, registry_uri=uri)


def registered_versions(workspace: Path) -> list[int]:
    """The numbers of the registered versions; none where the workspace has no registry."""
    if not (workspace / "mlflow.db").exists():
        return []
    return sorted(int(version.version) for version in mlflow_client(workspace).search_model_versions())


def write_config(file: Path, settings: Mapping[str, Any]) -> Path:
    """The settings as a YAML file."""
    file.write_text(yaml.safe_dump(dict(settings)), encoding="utf-8")
    return file


def steps_run(answer: Mapping[str, Any]) -> set[str]:
    """The steps of a training that were computed, not taken from the cache."""
    assert [stage["name"] for stage in answer["stages"]] == list(STEPS.values())
    return {step for step, stage in zip(STEPS, answer["stages"], strict=True) if not stage["cached"]}


def change_caption(collection: Path, split: str) -> None:
    """Other words in the first caption of a split's first image."""
    file = collection / split / "metadata.jsonl"
    first, *others = file.read_text().splitlines(keepends=True)
    row = json.loads(first)
    row["captions"][0] = "A purple submarine beside a lighthouse."
    file.write_text(json.dumps(row) + "\n" + "".join(others))


def change_image(collection: Path, split: str) -> Path:
    """Another picture under the name of a split's first image."""
    file = sorted((collection / split).glob("*.jpg"))[0]
    with Image.open(file) as image:
        inverted = ImageOps.invert(image.convert("RGB"))
    inverted.save(file, quality=90)
    return file
