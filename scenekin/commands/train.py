"""`scenekin train`."""

from pathlib import Path
from typing import TYPE_CHECKING

from scenekin.console import interval_text, problems_text, say, short
from scenekin.options import (
    AsJson,
    Assignments,
    CaptionColumn,
    Collection,
    ConfigFile,
    Encoding,
    Format,
    ImageColumn,
    Images,
    Rehash,
    Wait,
    Workspace,
    column_options,
    path_text,
)
from tasks.metrics.formatting import format_figure

if TYPE_CHECKING:
    from flows.results import TrainResult
    from tasks.evaluation.summary import Gain


def train(
    collection: Collection,
    config: ConfigFile = None,
    set: Assignments = None,
    format: Format = None,
    images: Images = None,
    image_column: ImageColumn = None,
    caption_column: CaptionColumn = None,
    encoding: Encoding = None,
    rehash: Rehash = False,
    wait: Wait = False,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Learn from a captioned collection; register the better of the candidates."""
    from flows.train import train as train_model
    from scenekin.config_file import read_config

    result = train_model(
        collection,
        read_config(config, set or []).with_columns(column_options(image_column, caption_column, encoding)),
        workspace=path_text(workspace),
        images=images,
        format=format,
        rehash=rehash,
        wait=wait,
    )
    say(result.model_dump(mode="json"), json, train_text(result))


def train_text(result: "TrainResult") -> str:
    """What came of a training, for people."""
    lines = [f"scenekin version {result.model.version} ({', '.join(result.model.aliases)}): {result.reason}"]
    for candidate in sorted(result.candidates, key=lambda each: -(each.metrics.get("ndcg_auc") or 0)):
        figure, interval = format_figure(candidate.metrics.get("ndcg_auc")), interval_text(candidate.ndcg_auc_interval)
        behind = _behind(candidate.to_best) if candidate.to_best else ""
        figures = f"validation NDCG AUC {figure} {interval}{behind}, trained in {candidate.seconds:.0f} s"
        lines.append(f"  {candidate.label:14}  {figures}")
    cached = sum(stage.cached for stage in result.stages)
    lines.append(f"  stages: {len(result.stages)}, cached: {cached}")
    lines += problems_text(result.problem_counts)
    return "\n".join([*lines, f"Report: {short(Path(result.report))}"])


def _behind(to_best: "Gain") -> str:
    """How much more the best has."""
    low, high = to_best.ndcg_auc_interval or (0.0, 0.0)
    return f", {format_figure(-(to_best.ndcg_auc or 0.0))} {interval_text((-high, -low))} behind"
