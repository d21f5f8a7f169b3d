"""The stages that evaluate methods on a split, and write the report."""

import json
import shutil
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from storage.artifacts import Artifact, folder_of
from storage.atomic import fresh_folder
from storage.models import ModelRef
from storage.workspace import Workspace
from tasks.caching import StageRun, stage
from tasks.evaluation.inputs import EvaluationData
from tasks.evaluation.steering import WordFigures
from tasks.evaluation.summary import Gain, MethodSummary
from tasks.model.config import BackboneConfig

__all__ = ["Evaluation", "Gain", "evaluate", "keep_report", "read_evaluation", "write_report"]

VERSIONS = ("scenekin", "torch", "timm", "numpy", "scipy", "nltk", "pillow")


@stage("evaluation", libraries=("matplotlib", "nltk", "numpy", "pillow", "pillow-heif", "scipy", "torch"))
def evaluate(
    run: StageRun,
    data: EvaluationData,
    embeddings: Mapping[str, Artifact],
    models: Mapping[str, ModelRef],
    backbone: BackboneConfig,
    seed: int,
) -> None:
    """All methods on one split (METHOD.md 6) → evaluation.json, figures/, and sheets/ of example queries."""
    from tasks.evaluation.stage import evaluate as run_evaluation

    run_evaluation(run, data, embeddings, models, backbone, seed)


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
    """An evaluation and the collection's problem counts → report.html, one file that opens offline, and report.json."""
    from tasks.evaluation.report import Report, render_report
    from tasks.evaluation.sheets import Example

    folder = run.open(evaluation)
    facts: dict[str, Any] = json.loads((folder / "evaluation.json").read_text())
    examples, steered = (
        tuple(
            Example(**example, sheet=(folder / sheets / f"{n}.jpg").read_bytes())
            for n, example in enumerate(facts.pop(name))
        )
        for name, sheets in (("examples", "sheets"), ("steered", "steered"))
    )
    report = Report(
        **facts,
        title=title,
        collection=collection,
        model=model,
        notes=notes,
        seconds=run.seconds,
        problem_counts=json.loads((run.open(summary) / "summary.json").read_text())["problem_counts"],
        versions={library: version(library) for library in VERSIONS},
        config=config.model_dump(mode="json"),
        examples=examples,
        steered=steered,
        figures={name: (folder / f"figures/{name}.png").read_bytes() for name in ("ndcg", "pcc", "scatter")},
    )
    (run.folder / "report.html").write_text(render_report(report))
    (run.folder / "report.json").write_text(report.model_dump_json(indent=1))


class Evaluation(BaseModel):
    """The figures of an evaluation."""

    queries: int
    left_out: int
    methods: dict[str, MethodSummary]
    words: dict[str, WordFigures]

    def figures(self, method: str) -> dict[str, float]:
        """A method's figures under names that MLflow takes; undefined ones are left out."""
        summary = self.methods[method]
        figures = {"ndcg_auc": summary.ndcg_auc, "pcc_auc": summary.pcc_auc}
        figures |= {f"ndcg_at_{rank}": value for rank, value in summary.ndcg.items()}
        figures |= {f"pcc_at_{rank}": value for rank, value in summary.pcc.items()}
        return {name: value for name, value in figures.items() if value is not None}


def read_evaluation(workspace: Workspace, evaluation: Artifact) -> Evaluation:
    """The figures of an evaluation stage."""
    return Evaluation.model_validate_json((folder_of(workspace, evaluation) / "evaluation.json").read_text())


def keep_report(workspace: Workspace, report: Artifact, name: str) -> Path:
    """Copy a report to the workspace's reports; the path of its page."""
    with fresh_folder(workspace.reports / name) as folder:
        for file in ("report.html", "report.json"):
            shutil.copyfile(folder_of(workspace, report) / file, folder / file)
    return workspace.reports / name / "report.html"
