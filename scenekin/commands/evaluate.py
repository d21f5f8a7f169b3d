"""`scenekin evaluate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scenekin.console import print_result, score_text, short
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
    Model,
    Rehash,
    Wait,
    Workspace,
    column_options,
    path_text,
)
from tasks.collection.records import Split
from tasks.metrics.formatting import format_difference, format_metric, format_with_interval
from tasks.phrases import counted

if TYPE_CHECKING:
    from flows.results import EvaluateResult

LEGEND = (
    "  NDCG AUC is this score; PCC AUC (-100 to 100) is how well the similarities follow those of the captions.",
    "  GAP, blocks and R-MAC: the untrained network; oracle: the ranking by the captions themselves.",
)


def evaluate(
    collection: Collection,
    split: Annotated[Split, typer.Option("--split", help="Split to evaluate on.")] = "test",
    model: Model = "champion",
    config: ConfigFile = None,
    set: Assignments = None,
    format: Format = None,
    images: Images = None,
    image_column: ImageColumn = None,
    caption_column: CaptionColumn = None,
    encoding: Encoding = None,
    table: Annotated[
        bool, typer.Option("--table", help="Print a table of all methods with confidence intervals.")
    ] = False,
    follow_links: FollowLinks = False,
    rehash: Rehash = False,
    wait: Wait = False,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Evaluate a model, the other candidates of its training and the untrained baselines."""
    from flows.evaluate import evaluate as evaluate_model
    from scenekin.config_file import read_config

    result = evaluate_model(
        collection,
        split,
        model,
        workspace=path_text(workspace),
        images=images,
        format=format,
        runtime=read_config(config, set or [], "evaluate").runtime,  # all other settings are the model's own
        columns=column_options(image_column, caption_column, encoding),
        follow_links=follow_links,
        rehash=rehash,
        wait=wait,
    )
    print_result(result.model_dump(mode="json"), json, table_text(result) if table else evaluate_text(result))


def evaluate_text(result: "EvaluateResult") -> str:
    """The metrics of each method as text."""
    lines = [*_heading(result), f"  {'method':32} NDCG AUC  PCC AUC"]
    for _, summary in sorted(result.methods.items(), key=lambda item: item[0] != result.method):
        aucs = (format_metric(auc) for auc in (summary.ndcg_auc, summary.pcc_auc))
        lines.append("  {:32} {:>8} {:>8}".format(summary.label, *aucs))
    lines += LEGEND
    for name, words in result.words.items():
        without, at_90, at_80 = (f"{100 * share:.0f}%" for share in (words.without, words.at_90, words.at_80))
        lines.append(
            f"  {result.methods[name].label}: adding a word raises its share of the top 10 from {without} to {at_90} "
            f"(keeping 90% of the similarity) or {at_80} (keeping 80%)"
        )
    for name, mixed in result.mixed.items():
        share, expected = (f"{100 * each:.0f}%" for each in (mixed.train_share, mixed.train_share_expected))
        lines.append(
            f"  {result.methods[name].label}, with training images in the index: NDCG AUC "
            f"{format_metric(mixed.ndcg_auc)}; {share} of the top 10 are training images ({expected} expected)"
        )
    return "\n".join([*lines, *_notes(result), f"Report: {short(Path(result.report))}"])


def _heading(result: "EvaluateResult") -> list[str]:
    """What was evaluated, and how good it is."""
    return [
        f"{result.model.name} version {result.model.version}, {result.methods[result.method].label}, on "
        f"{result.split}: {counted(result.queries, 'query', 'queries')}, {result.left_out:,} skipped",
        _score_line(result),
        *_verdict(result),
    ]


def _score_line(result: "EvaluateResult") -> str:
    """What the score means, with those of the model, the best untrained baseline and chance."""
    methods, gain = result.methods, result.methods[result.method].gain
    random = methods.get("random")
    return score_text(
        methods[result.method].ndcg_auc,
        None if gain is None else methods[gain.over].ndcg_auc,
        None if random is None else random.ndcg_auc,
    )


def _verdict(result: "EvaluateResult") -> list[str]:
    """Whether the model is better than the best untrained baseline, where that was measured."""
    from tasks.evaluation.task import compare_with_baseline

    summary = result.methods[result.method]
    if summary.gain is None or summary.gain.ndcg_auc is None:
        return []
    difference = format_difference(summary.gain.ndcg_auc, summary.gain.ndcg_auc_interval)
    baseline = result.methods[summary.gain.over].label
    better = f"is clearly better than the best untrained baseline ({baseline}): {difference}"
    return [f"  {summary.label} {compare_with_baseline(result.methods, result.method) or better}"]


def _notes(result: "EvaluateResult") -> list[str]:
    """What to know about the metrics, one line each."""
    notes = []
    if result.warning:
        notes.append(f"  The quality is not established: {result.warning}")
    if result.foreign:
        notes.append(
            "  The models were trained on other captions: another collection, or this one before it changed; "
            "the baselines are fitted to these"
        )
    if result.cut_ranks:
        ranks = ", ".join(map(str, result.cut_ranks))
        notes.append(
            f"  Lists of {ranks} results cannot be measured, since a query ranks fewer images; the AUCs cover shorter "
            "lists only and are not comparable with those of larger splits"
        )
    return notes


def table_text(result: "EvaluateResult") -> str:
    """Table 2 of the paper as text."""
    from tasks.evaluation.methods import in_paper_order

    lines = [*_heading(result), f"{'method':32} {'NDCG AUC':23} PCC AUC"]
    for name in in_paper_order(result.methods):
        summary = result.methods[name]
        ndcg = _aligned(format_with_interval(summary.ndcg_auc, summary.ndcg_auc_interval))
        pcc = _aligned(format_with_interval(summary.pcc_auc, summary.pcc_auc_interval))
        lines.append(f"{summary.label:32} {ndcg:23} {pcc}".rstrip())
    return "\n".join([*lines, *_notes(result), f"Report: {short(Path(result.report))}"])


def _aligned(metric: str) -> str:
    """Right-align the number before an interval."""
    value, space, interval = metric.partition(" ")
    return f"{value:>5}{space}{interval}"
