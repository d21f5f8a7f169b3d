"""Registration of the best candidate: not cached but idempotent, by the digest of the model."""

import io
import json
import shutil
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pyarrow.compute as pc
from PIL import Image
from pydantic import BaseModel

from storage.artifacts import Artifact, folder_of
from storage.models import TEXT_FILE, ModelRef, keep_model, refer_to_model, sound_model
from storage.registry import ModelPackage, Registered, VersionInfo, find_model, register, renew_version
from storage.tables import read_table
from storage.tracking import ensure_run, log_files
from storage.workspace import Workspace
from tasks.captions.vocabulary import vocabulary_from
from tasks.collection.records import SPLITS
from tasks.model.config import load_config
from tasks.registry.card import CardFacts, Counts, Validated, changed_settings, write_card
from tasks.source import closure

SERVED_BY = "tasks.registry.pyfunc"
REQUIREMENTS = (
    "mlflow",
    "nltk",
    "numpy",
    "pandas",
    "pillow",
    "pyarrow",
    "pydantic",
    "regex",
    "safetensors",
    "scipy",
    "timm",
    "torch",
)


def candidate_model(workspace: Workspace, training: Artifact) -> ModelRef:
    """The model that a training stage wrote."""
    return refer_to_model(workspace, folder_of(workspace, training) / "model")


def run_of(workspace: Workspace, training: Artifact) -> str:
    """The MLflow run in which a training stage trained."""
    run_id: str = json.loads((folder_of(workspace, training) / "training.json").read_text())["run_id"]
    return run_id


def model_card(
    workspace: Workspace,
    best: str,
    candidates: Mapping[str, ModelRef],
    collection: Artifact,
    report: Artifact,
    config: BaseModel,
) -> str:
    """The best candidate's card, from what it learned from, the report on validation and the settings of its flow."""
    folder = workspace.root / candidates[best].path
    vocabulary = vocabulary_from(read_table(folder / "vocabulary.parquet"))
    settings, defaults = (
        each.model_dump(mode="json", exclude={"runtime", "index"}) for each in (config, type(config)())
    )
    facts = CardFacts(
        model=load_config(folder),
        takes_words=(folder / TEXT_FILE).exists(),
        language=vocabulary.language,
        stems=len(vocabulary.stems),
        splits={split: _counts(folder_of(workspace, collection) / f"captions/{split}.parquet") for split in SPLITS},
        settings=changed_settings(settings, defaults),
        candidates=tuple(candidates),
        validated=Validated.model_validate_json((folder_of(workspace, report) / "report.json").read_text()),
    )
    return write_card(facts)


def _counts(captions: Path) -> Counts:
    captions_N = read_table(captions, ["captions"])["captions"]
    return Counts(images=len(captions_N), captions=pc.sum(pc.list_value_length(captions_N)).as_py() or 0)


def find_registered(workspace: Workspace, name: str) -> Registered:
    """The registered version of an alias or number, whose model is whole. Raises StorageError."""
    registered = find_model(workspace, name)
    sound_model(workspace, registered.model)
    return registered


def register_model(
    workspace: Workspace,
    run_id: str,
    best: str,
    candidates: Mapping[str, ModelRef],
    config: str,
    metrics: Mapping[str, float],
    card: str,
    collection: Artifact,
) -> Registered:
    """Register the best candidate, or find the version that it is already; all candidates stay in the workspace."""
    kept = {method: keep_model(workspace, model) for method, model in candidates.items()}
    summary = json.loads((folder_of(workspace, collection) / "summary.json").read_text())
    info = VersionInfo(candidates=kept, config=config, card=card, tags={"format": summary["format"]})
    known = renew_version(workspace, kept[best], info)
    if known is not None:
        return known
    import pandas as pd

    run_id = ensure_run(workspace, run_id, best)
    with tempfile.TemporaryDirectory() as folder:
        code = _travelling_code(Path(folder))
        package = ModelPackage(
            python_model=_file_of(SERVED_BY),
            code=code,
            input_example=pd.DataFrame({"image": [_example()]}),
            requirements=tuple(f"{library}=={version(library).partition('+')[0]}" for library in REQUIREMENTS),
            dimension=load_config(workspace.root / kept[best].path).dimension,
        )
        return register(workspace, run_id, kept[best], info=info, metrics=metrics, package=package)


def attach_report(workspace: Workspace, run_id: str, report: Artifact, split: str) -> None:
    """Log the report on a split to a training run."""
    log_files(workspace, run_id, folder_of(workspace, report), f"report/{split}")


def _travelling_code(folder: Path) -> Path:
    """A copy of the modules that the served model imports, so that it loads where scenekin is not installed."""
    for module in sorted(closure({SERVED_BY})):
        source = _file_of(module)
        parts = module.split(".")
        target = (
            folder.joinpath(*parts, "__init__.py")
            if source.name == "__init__.py"
            else folder.joinpath(*parts).with_suffix(".py")
        )
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        for depth in range(1, len(parts)):
            folder.joinpath(*parts[:depth], "__init__.py").touch()
    return folder


def _file_of(module: str) -> Path:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin)


def _example() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (64, 48), (90, 140, 200)).save(stream, "PNG")
    return stream.getvalue()
