"""The work of the report stage: an evaluation as an HTML page and as JSON."""

import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from storage.artifacts import Artifact
from tasks.caching import StageRun
from tasks.evaluation.report import Report, render_report
from tasks.evaluation.sheets import Example


def write_report(
    run: StageRun,
    evaluation: Artifact,
    summary: Artifact,
    title: str,
    collection: str,
    model: str,
    notes: tuple[str, ...],
    config: Mapping[str, Any],
    libraries: tuple[str, ...],
) -> None:
    """Render the report → report.html, which opens offline, and report.json."""
    folder = run.open(evaluation)
    content: dict[str, Any] = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    examples, steered = (
        tuple(
            Example(**example, sheet=(folder / pictures / f"{number}.jpg").read_bytes())
            for number, example in enumerate(content.pop(name))
        )
        for name, pictures in (("examples", "sheets"), ("steered", "steered"))
    )
    report = Report(
        **content,
        title=title,
        collection=collection,
        model=model,
        notes=notes,
        seconds=run.seconds,
        problem_counts=json.loads((run.open(summary) / "summary.json").read_text(encoding="utf-8"))["problem_counts"],
        versions={library: version(library) for library in libraries},
        config=dict(config),
        examples=examples,
        steered=steered,
        charts={name: (folder / f"charts/{name}.png").read_bytes() for name in ("ndcg", "pcc", "scatter")},
    )
    (run.folder / "report.html").write_text(render_report(report), encoding="utf-8")
    (run.folder / "report.json").write_text(report.model_dump_json(indent=1), encoding="utf-8")
