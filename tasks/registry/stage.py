"""The work of registering a model: its card, its code and its requirements."""

import io
import json
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import pandas as pd
import pyarrow.compute as pc
from PIL import Image
from pydantic import BaseModel

from storage.artifacts import Artifact, folder_of
from storage.models import TEXT_FILE, ModelRef, keep_model
from storage.registry import ModelPackage, Registered, VersionInfo, known_version, register
from storage.tables import read_table
from storage.tracking import ensure_run
from storage.workspace import Workspace
from tasks.captions.vocabulary import vocabulary_from
from tasks.collection.records import SPLITS
from tasks.evaluation.report import Report
from tasks.model.config import OPEN_CLIP, ModelConfig, load_config
from tasks.registry.bundle import MODULE, importable, write_bundle
from tasks.registry.card import CardContent, Counts, changed_settings, write_card
from tasks.source import closure

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


def model_card(
    workspace: Workspace,
    best: str,
    candidates: Mapping[str, ModelRef],
    collection: Artifact,
    report: Artifact,
    config: BaseModel,
) -> str:
    """Write the best candidate's card from its training data, the validation report and the settings."""
    folder = workspace.root / candidates[best].path
    vocabulary = vocabulary_from(read_table(folder / "vocabulary.parquet"))
    settings, defaults = (
        each.model_dump(mode="json", exclude={"runtime", "index"}) for each in (config, type(config)())
    )
    content = CardContent(
        model=load_config(folder),
        takes_words=(folder / TEXT_FILE).exists(),
        language=vocabulary.language,
        stems=len(vocabulary.stems),
        splits={split: _counts(folder_of(workspace, collection) / f"captions/{split}.parquet") for split in SPLITS},
        settings=changed_settings(settings, defaults),
        candidates=tuple(candidates),
        validation=Report.model_validate_json(
            (folder_of(workspace, report) / "report.json").read_text(encoding="utf-8")
        ),
    )
    return write_card(content)


def _counts(captions: Path) -> Counts:
    captions_N = read_table(captions, ["captions"])["captions"]
    return Counts(images=len(captions_N), captions=pc.sum(pc.list_value_length(captions_N)).as_py() or 0)


def register_model(
    workspace: Workspace,
    run_id: str,
    best: str,
    candidates: Mapping[str, ModelRef],
    config: str,
    metrics: Mapping[str, float],
    card: str,
    collection: Artifact,
    doubt: str | None,
) -> Registered:
    """Register the best candidate, or return its existing version."""
    kept = {method: keep_model(workspace, model) for method, model in candidates.items()}
    summary = json.loads((folder_of(workspace, collection) / "summary.json").read_text(encoding="utf-8"))
    info = VersionInfo(candidates=kept, config=config, card=card, tags={"format": summary["format"]}, doubt=doubt)
    known = known_version(workspace, kept[best], info)
    if known is not None:
        return known
    run_id = ensure_run(workspace, run_id, best)
    recipe = load_config(workspace.root / kept[best].path)
    with tempfile.TemporaryDirectory() as folder:
        package = ModelPackage(
            python_model=write_bundle(Path(folder), closure({MODULE})),
            code=Path(folder),
            input_example=pd.DataFrame({"image": [_example()]}),
            requirements=tuple(f"{library}=={version(library).partition('+')[0]}" for library in libraries_of(recipe)),
            dimension=recipe.dimension,
        )
        with importable(Path(folder)):
            return register(workspace, run_id, kept[best], info=info, metrics=metrics, package=package)


def libraries_of(recipe: ModelConfig) -> tuple[str, ...]:
    """Return the distributions that a model's code needs."""
    has_image_tower = any(backbone.name.startswith(OPEN_CLIP) for backbone in recipe.backbones)
    return (*REQUIREMENTS, "open_clip_torch") if has_image_tower else REQUIREMENTS


def _example() -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (64, 48), (90, 140, 200)).save(stream, "PNG")
    return stream.getvalue()
