"""The report of an evaluation: one HTML file that opens offline, and the same as JSON without pictures."""

import base64
import json
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel, ConfigDict, Field

from tasks.evaluation.methods import Kind, method_kind
from tasks.evaluation.mixed import MixedMetrics
from tasks.evaluation.sheets import Example
from tasks.evaluation.steering import FREQUENCY, TOP, WordMetrics
from tasks.evaluation.summary import MethodSummary, best_of, doubt_quality
from tasks.metrics.formatting import format_metric
from tasks.phrases import counted

GROUPS: dict[Kind, tuple[str, str]] = {
    "trained": ("Trained models", ""),
    "captioned": (
        "Queried with image and captions",
        "These queries include the text that relevance is computed from: an upper reference, not comparable with the "
        "methods above.",
    ),
    "features": ("Untrained candidate", "The baseline that is best on validation, as a model."),
    "untrained": ("Untrained baselines", ""),
    "reference": ("References", ""),
}
"""The title and note of each kind of method, in the order of the report's table."""


class Report(BaseModel):
    """An evaluation and how it was made; `charts` are pictures by name and not part of the JSON."""

    model_config = ConfigDict(frozen=True)

    title: str
    collection: str
    split: str
    model: str
    queries: int
    images: int  # ranked by each query
    left_out: int  # queries without any relevant image
    reference: str = "train"  # split that relevance and baselines are fitted on
    foreign: bool = False  # whether the models were trained on another collection
    evaluated: str | None = None  # the method of the evaluated model; None where candidates are compared
    cut_ranks: tuple[int, ...] = ()  # standard ranks that exceed the number of ranked images
    copies: int  # queries with a byte-identical copy among the ranked images
    methods: dict[str, MethodSummary]
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = {}
    problem_counts: dict[str, int] = {}
    versions: dict[str, str] = {}
    config: dict[str, Any] = {}
    words: dict[str, WordMetrics] = {}  # by method
    mixed: dict[str, MixedMetrics] = {}  # by method
    examples: tuple[Example, ...] = ()
    steered: tuple[Example, ...] = ()  # of the best method with a text embedding
    charts: dict[Literal["ndcg", "pcc", "scatter"], bytes] = Field(default={}, exclude=True, repr=False)


def render_report(report: Report) -> str:
    """Render one HTML file with its pictures embedded and all data escaped (METHOD.md 6)."""
    environment = Environment(
        loader=PackageLoader("tasks.evaluation", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["data_uri"] = _data_uri
    environment.filters["metric"] = format_metric
    environment.filters["counted"] = counted
    return environment.get_template("report.html.j2").render(
        report=report,
        groups=_groups(report),
        leading=report.evaluated or best_of(report.methods, "trained"),
        doubt=doubt_quality(report.queries, report.methods),
        best={auc: best_of(report.methods, "untrained", "trained", auc=auc) for auc in ("ndcg_auc", "pcc_auc")},
        frequency="{:.0f} to {:.0f}%".format(*(100 * bound for bound in FREQUENCY)),
        top=TOP,
        config=json.dumps(report.model_dump(mode="json")["config"], indent=2, ensure_ascii=False),
    )


def _groups(report: Report) -> list[tuple[str, str, list[str]]]:
    """List title, note and methods of each kind that the report has, the evaluated model first."""
    methods = sorted(report.methods, key=lambda name: name != report.evaluated)
    groups = [(*heading, [name for name in methods if method_kind(name) == kind]) for kind, heading in GROUPS.items()]
    return [group for group in groups if group[-1]]


def _data_uri(picture: bytes) -> str:
    kind = "png" if picture.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"
