"""The stages that evaluate methods on a split and write the report."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel

from storage.artifacts import Artifact, folder_of
from storage.atomic import fresh_folder
from storage.models import ModelRef
from storage.workspace import Workspace
from tasks.caching import StageRun, stage
from tasks.evaluation.inputs import EvaluationData
from tasks.evaluation.methods import LABELS
from tasks.evaluation.mixed import MixedMetrics
from tasks.evaluation.results import Evaluation
from tasks.evaluation.steering import WordMetrics
from tasks.evaluation.summary import Difference, MethodSummary, best_of, compare_with_baseline
from tasks.model.config import BackboneConfig

__all__ = [
    "LABELS",
    "Difference",
    "Evaluation",
    "MethodSummary",
    "MixedMetrics",
    "WordMetrics",
    "best_of",
    "compare_models",
    "compare_with_baseline",
    "evaluate",
    "keep_report",
    "read_evaluation",
    "write_report",
]

VERSIONS = ("scenekin", "torch", "timm", "numpy", "scipy", "nltk", "pillow")


@stage("evaluation", libraries=("matplotlib", "nltk", "numpy", "pillow", "pillow-heif", "scipy", "torch"))
def evaluate(
    run: StageRun,
    data: EvaluationData,
    embeddings: Mapping[str, Artifact],
    models: Mapping[str, ModelRef],
    backbones: tuple[BackboneConfig, ...],
    seed: int,
    evaluated: str | None = None,
) -> None:
    """Measure all methods on one split (METHOD.md 6) → evaluation.json, charts/, sheets/ and steered/.

    `evaluated` is the method that charts and examples show; without it they show the best.
    """
    from tasks.evaluation.evaluation_stage import evaluate as run_evaluation

    run_evaluation(run, data, embeddings, models, backbones, seed, evaluated)


@stage("report", libraries=("jinja2", *VERSIONS), resources=(("tasks.evaluation", "report.html.j2"),))
def write_report(
    run: StageRun,
    evaluation: Artifact,
    summary: Artifact,
    title: str,
    collection: str,
    model: str,
    notes: tuple[str, ...],
    config: BaseModel,
) -> None:
    """Render an evaluation and the collection's problem counts → report.html and report.json."""
    from tasks.evaluation.report_stage import write_report as run_report

    run_report(run, evaluation, summary, title, collection, model, notes, config.model_dump(mode="json"), VERSIONS)


def compare_models(
    workspace: Workspace,
    collection: Artifact,
    features: Sequence[Artifact],
    split: str,
    model: ModelRef,
    over: ModelRef,
    seed: int,
) -> Difference | None:
    """Return the model's metrics on a split minus those of another, with paired intervals.

    None unless both learned from the same captions and use features of the same frozen network.
    """
    from tasks.evaluation.comparison_stage import compare_models as run_comparison

    return run_comparison(workspace, collection, features, split, model, over, seed)


def read_evaluation(workspace: Workspace, evaluation: Artifact) -> Evaluation:
    """Read the metrics of an evaluation stage."""
    return Evaluation.model_validate_json(
        (folder_of(workspace, evaluation) / "evaluation.json").read_text(encoding="utf-8")
    )


def keep_report(workspace: Workspace, report: Artifact, name: str) -> Path:
    """Copy a report into the workspace's reports and return the path of its page."""
    with fresh_folder(workspace.reports / name) as folder:
        for file in ("report.html", "report.json"):
            shutil.copyfile(folder_of(workspace, report) / file, folder / file)
    return workspace.reports / name / "report.html"
