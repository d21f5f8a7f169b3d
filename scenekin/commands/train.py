"""`scenekin train`."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scenekin.console import print_result, problems_text, short
from scenekin.options import (
    AsJson,
    Assignments,
    CaptionColumn,
    Collection,
    ConfigFile,
    Encoding,
    FollowLinks,
    Format,
    ImageColumn,
    Images,
    Rehash,
    Wait,
    Workspace,
    column_options,
    path_text,
)
from tasks.metrics.formatting import format_difference, format_with_interval
from tasks.model.licences import describe_licence

if TYPE_CHECKING:
    from flows.results import TrainResult
    from tasks.evaluation.summary import Difference


WORDS_NEED_TRAINING = (
    "  To search by words all the same: scenekin train COLLECTION --set 'candidates=[regression]', "
    "then scenekin index COLLECTION --model challenger"
)


def train(
    collection: Collection,
    config: ConfigFile = None,
    set: Assignments = None,
    format: Format = None,
    images: Images = None,
    image_column: ImageColumn = None,
    caption_column: CaptionColumn = None,
    encoding: Encoding = None,
    follow_links: FollowLinks = False,
    rehash: Rehash = False,
    wait: Wait = False,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Train the candidate models on a captioned collection and register the best one."""
    from flows.train import train as train_model
    from scenekin.config_file import read_config

    result = train_model(
        collection,
        read_config(config, set or [], "train").with_columns(column_options(image_column, caption_column, encoding)),
        workspace=path_text(workspace),
        images=images,
        format=format,
        follow_links=follow_links,
        rehash=rehash,
        wait=wait,
    )
    given = workspace or click.get_current_context().find_root().params["workspace"]  # after or before the command
    place = [collection, *([] if given is None else ["--workspace", str(given)])]
    print_result(result.model_dump(mode="json"), json, train_text(result, place))


def train_text(result: "TrainResult", place: Sequence[str] = ("COLLECTION",)) -> str:
    """Describe the result of a training for people; `place` follows the commands that it names."""
    model = f"Model {result.model.version} ({', '.join(result.model.aliases)})"
    rows = [
        (
            candidate.label,
            candidate.metrics.get("ndcg_auc"),
            candidate.ndcg_auc_interval,
            _comparison(candidate.to_baseline) + f", trained in {candidate.seconds:.0f} s",
        )
        for candidate in result.candidates
        if candidate.method != "untrained"  # it is the best untrained baseline
    ]
    if result.baseline is not None:
        baseline = result.baseline
        auc = baseline.metrics.get("ndcg_auc")
        rows.append((baseline.label, auc, baseline.ndcg_auc_interval, ", best untrained baseline"))
    warning = f"; it {result.warning}" if result.warning else ""
    lines = [f"{model}: {result.reason}{warning}", *_next_steps(result, shlex.join(place))]
    if result.method == "untrained":
        lines.append(WORDS_NEED_TRAINING)
    lines.append("  NDCG AUC on validation:")
    lines += [
        f"  {label:14}  {format_with_interval(auc, interval)}{note}"
        for label, auc, interval, note in sorted(rows, key=lambda row: -(row[1] or 0))
    ]
    lines.append(f"  Network: {result.network.name}; {describe_licence(result.network.licence)}")
    cached = sum(stage.cached for stage in result.stages)
    lines.append(f"  Stages: {len(result.stages)}, {cached} from the cache")
    lines += problems_text(result.problem_counts)
    return "\n".join([*lines, f"Report: {short(Path(result.report))}"])


def _next_steps(result: "TrainResult", place: str) -> list[str]:
    """How a model that is not in use compares with the one that is, and how to use it."""
    if "challenger" not in result.model.aliases:
        return []
    lines = []
    if result.to_champion is not None:
        difference = format_difference(result.to_champion.ndcg_auc, result.to_champion.ndcg_auc_interval)
        lines.append(f"  NDCG AUC on validation compared with the champion, version {result.champion}: {difference}")
    elif result.champion is not None:
        compare = f"scenekin evaluate {place}"
        lines.append(f"  Compare it with the champion: {compare} and {compare} --model challenger")
    return [*lines, f"  To use it: scenekin index {place} --model challenger"]


def _comparison(to_baseline: "Difference | None") -> str:
    """Format a candidate's difference from the best untrained baseline."""
    if to_baseline is None:
        return ""
    return f", {format_difference(to_baseline.ndcg_auc, to_baseline.ndcg_auc_interval)} vs. baseline"
