"""The report of an evaluation: one HTML file that opens offline, and as JSON without its pictures."""

import base64
import json
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel, ConfigDict, Field

from tasks.evaluation.methods import Kind, method_kind
from tasks.evaluation.sheets import Example
from tasks.evaluation.steering import HELD_BY, TOP, WordFigures
from tasks.evaluation.summary import MethodSummary, best_of
from tasks.metrics.formatting import format_figure


class Report(BaseModel):
    """What was evaluated, how, and what came out; `figures` are pictures by name, no part of the JSON."""

    model_config = ConfigDict(frozen=True)

    title: str
    collection: str
    split: str
    model: str
    queries: int
    images: int  # that each query ranks
    left_out: int  # queries without any relevant image
    copies: int  # queries with a byte copy among the ranked
    methods: dict[str, MethodSummary]
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = {}
    problem_counts: dict[str, int] = {}
    versions: dict[str, str] = {}
    config: dict[str, Any] = {}
    words: dict[str, WordFigures] = {}  # of the methods that words steer
    examples: tuple[Example, ...] = ()
    steered: tuple[Example, ...] = ()  # of the best method that words steer
    figures: dict[Literal["ndcg", "pcc", "scatter"], bytes] = Field(default={}, exclude=True, repr=False)


def render_report(report: Report) -> str:
    """One HTML file with its pictures inside; everything that comes from data is escaped, METHOD.md 6."""
    environment = Environment(
        loader=PackageLoader("tasks.evaluation", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["data_uri"] = _data_uri
    environment.filters["figure"] = format_figure
    return environment.get_template("report.html.j2").render(
        report=report,
        groups=_groups(report),
        winner=best_of(report.methods, "trained"),
        best={auc: best_of(report.methods, "untrained", "trained", auc=auc) for auc in ("ndcg_auc", "pcc_auc")},
        held_by="{:.0f} to {:.0f} %".format(*(100 * bound for bound in HELD_BY)),
        top=TOP,
        config=json.dumps(report.model_dump(mode="json")["config"], indent=2, ensure_ascii=False),
    )


def _groups(report: Report) -> list[tuple[str, str, list[str]]]:
    """Methods by kind under a title with a note, trained first, in the table's order."""
    titles: dict[Kind, tuple[str, str]] = {
        "trained": ("trained", ""),
        "captioned": (
            "trained, asked by image and captions",
            "The query holds the text that truth is made of: an end of the scale, not a rival of the others.",
        ),
        "untrained": ("untrained baselines", ""),
        "reference": ("ends of the scale", ""),
    }
    groups = [(*told, [name for name in report.methods if method_kind(name) == kind]) for kind, told in titles.items()]
    return [group for group in groups if group[-1]]


def _data_uri(picture: bytes) -> str:
    kind = "png" if picture.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"
