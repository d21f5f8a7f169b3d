"""`scenekin evaluate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scenekin.console import interval_text, say, short
from scenekin.local_run import columns_of, path_text, run_flow, settings_of
from scenekin.options import (
    AsJson,
    Assignments,
    CaptionColumn,
    Collection,
    ConfigFile,
    Format,
    ImageColumn,
    Images,
    Model,
    Rehash,
    Workspace,
)
from tasks.metrics.formatting import format_figure

if TYPE_CHECKING:
    from flows.results import EvaluateResult


def evaluate(
    collection: Collection,
    split: Annotated[str, typer.Option("--split", help="train, validation or test.")] = "test",
    model: Model = "champion",
    config: ConfigFile = None,
    set: Assignments = None,
    format: Format = None,
    images: Images = None,
    image_column: ImageColumn = None,
    caption_column: CaptionColumn = None,
    table: Annotated[bool, typer.Option("--table", help="All methods with intervals, as the paper's Table 2.")] = False,
    rehash: Rehash = False,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Measure a model, the candidates beside it and the untrained baselines on a split."""
    if split not in ("train", "validation", "test"):
        raise typer.BadParameter("choose train, validation or test", param_hint="--split")
    runtime = settings_of(config, set).runtime  # all other settings are those that the model was trained with
    columns = columns_of(image_column, caption_column)
    from flows.evaluate import evaluate_flow

    result = run_flow(
        evaluate_flow, collection, split, model, path_text(workspace), images, format, runtime, columns, rehash
    )
    say(result.model_dump(mode="json"), json, table_text(result) if table else evaluate_text(result))


def evaluate_text(result: "EvaluateResult") -> str:
    """The figures, for people."""
    lines = [
        f"{result.split}: {result.queries} queries, {result.left_out} skipped",
        f"  {'method':32} NDCG AUC  PCC AUC",
    ]
    for summary in result.methods.values():
        aucs = (format_figure(auc) for auc in (summary.ndcg_auc, summary.pcc_auc))
        lines.append("  {:32} {:>8} {:>8}".format(summary.label, *aucs))
    for name, words in result.words.items():
        without, at_90, at_80 = (f"{100 * share:.0f} %" for share in (words.without, words.at_90, words.at_80))
        lines.append(
            f"  {result.methods[name].label}: adding a word raises its share of the top 10 from {without} to {at_90} "
            f"(keeping 90 % of the similarity) or {at_80} (keeping 80 %)"
        )
    return "\n".join([*lines, f"Report: {short(Path(result.report))}"])


def table_text(result: "EvaluateResult") -> str:
    """The paper's Table 2, for people."""
    from tasks.evaluation.methods import in_paper_order

    lines = [f"{'method':32} {'NDCG AUC':21} PCC AUC"]
    for name in in_paper_order(result.methods):
        summary = result.methods[name]
        ndcg, pcc = (
            f"{format_figure(auc):>5} {interval_text(interval)}"
            for auc, interval in (
                (summary.ndcg_auc, summary.ndcg_auc_interval),
                (summary.pcc_auc, summary.pcc_auc_interval),
            )
        )
        lines.append(f"{summary.label:32} {ndcg:21} {pcc}".rstrip())
    return "\n".join([*lines, f"Report: {short(Path(result.report))}"])
