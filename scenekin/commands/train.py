"""`scenekin train`."""

import logging
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scenekin.console import LOGGER, print_result, problems_text, score_text, short
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
    column_arguments,
    column_options,
    path_text,
    workspace_argument,
)
from tasks.metrics.formatting import format_difference, format_metric, format_with_interval
from tasks.model.licences import describe_licence
from tasks.model.methods import LABELS, WITHOUT_WORDS

if TYPE_CHECKING:
    from flows.results import TrainResult
    from tasks.evaluation.summary import Difference


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
    place = [collection, *column_arguments(image_column, caption_column, encoding), *workspace_argument(workspace)]
    print_result(result.model_dump(mode="json"), json, train_text(result, place))


def train_text(result: "TrainResult", place: Sequence[str] = ("COLLECTION",)) -> str:
    """Describe the result of a training for people; `place` follows the commands that it names."""
    model = f"Model {result.model.version} ({', '.join(result.model.aliases)}), {LABELS[result.method]}"
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
    lines += [_score_line(result), "  Scores (NDCG AUC on validation), with 95% intervals:"]
    width = max(len(label) for label, *_ in rows)
    lines += [
        f"  {label:<{width}}  {format_with_interval(auc, interval)}{note}"
        for label, auc, interval, note in sorted(rows, key=lambda row: -(row[1] or 0))
    ]
    lines += [f"  Network: {network.name}; {describe_licence(network.licence)}" for network in result.networks]
    if LOGGER.isEnabledFor(logging.DEBUG):
        cached = sum(stage.cached for stage in result.stages)
        lines.append(f"  Stages: {len(result.stages)}, {cached} from the cache")
    lines += [*problems_text(result.problem_counts), *_more_captions(result)]
    return "\n".join([*lines, f"Report: {short(Path(result.report))}"])


def _score_line(result: "TrainResult") -> str:
    """What the score means, with those of the registered model, the best untrained baseline and chance."""
    trained = {candidate.method: candidate.metrics.get("ndcg_auc") for candidate in result.candidates}
    baseline = None if result.baseline is None else result.baseline.metrics.get("ndcg_auc")
    return score_text(trained.get(result.method), baseline, result.chance)


def _more_captions(result: "TrainResult") -> list[str]:
    """Whether more captions are likely to help, where that was measured."""
    if (half := result.half) is None:
        return []
    if half.is_clear_gain:
        effect = "more captions are likely to help"
    elif half.is_precise:
        effect = "no clear difference, so more captions of this kind may help little"
    else:
        effect = "no clear difference, but there are too few validation images to recognise a small one"
    reached = f"{format_metric(half.ndcg_auc)} instead of {format_metric(half.ndcg_auc + half.gain)}"
    return [f"  With half of the captioned training images ({half.images:,}), the score is {reached}: {effect}."]


def _next_steps(result: "TrainResult", place: str) -> list[str]:
    """How a model that is not in use compares with the one that is, how to use it, and how to get one with words."""
    lines = []
    if result.method in WITHOUT_WORDS:
        lines.append(
            f"  It takes no words; for a model that does: scenekin train {place} --set 'candidates=[regression]'"
        )
    if "challenger" not in result.model.aliases:
        return lines
    if result.to_champion is not None:
        difference = format_difference(result.to_champion.ndcg_auc, result.to_champion.ndcg_auc_interval)
        lines.append(f"  NDCG AUC on validation compared with the champion, version {result.champion}: {difference}")
    elif result.champion is not None:
        lines += [
            "  To compare it with the champion:",
            f"    scenekin evaluate {place}",
            f"    scenekin evaluate {place} --model {result.model.version}",
        ]
    return [*lines, f"  To use it: scenekin index {place} --model {result.model.version}"]


def _comparison(to_baseline: "Difference | None") -> str:
    """Format a candidate's difference from the best untrained baseline."""
    if to_baseline is None:
        return ""
    return f", {format_difference(to_baseline.ndcg_auc, to_baseline.ndcg_auc_interval)} vs. baseline"
