"""`scenekin evaluate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scenekin.console import interval_text, say, short
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
    Model,
    Rehash,
    Wait,
    Workspace,
    column_options,
    path_text,
)
from tasks.collection.records import Split
from tasks.metrics.formatting import format_figure

if TYPE_CHECKING:
    from flows.results import EvaluateResult


def evaluate(
    collection: Collection,
    split: Annotated[Split, typer.Option("--split", help="The split to evaluate on.")] = "test",
    model: Model = "champion",
    config: ConfigFile = None,
    set: Assignments = None,
    format: Format = None,
    images: Images = None,
    image_column: ImageColumn = None,
    caption_column: CaptionColumn = None,
    encoding: Encoding = None,
    table: Annotated[bool, typer.Option("--table", help="All methods with intervals, as the paper's Table 2.")] = False,
    rehash: Rehash = False,
    wait: Wait = False,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Measure a model, the candidates beside it and the untrained baselines on a split."""
    from flows.evaluate import evaluate as evaluate_model
    from scenekin.config_file import read_config

    result = evaluate_model(
        collection,
        split,
        model,
        workspace=path_text(workspace),
        images=images,
        format=format,
        runtime=read_config(config, set or []).runtime,  # all other settings are the model's own
        columns=column_options(image_column, caption_column, encoding),
        rehash=rehash,
        wait=wait,
    )
    say(result.model_dump(mode="json"), json, table_text(result) if table else evaluate_text(result))


def evaluate_text(result: "EvaluateResult") -> str:
    """The figures, for people."""
    lines = [
        f"{result.split}: {result.queries} queries, {result.left_out} left out",
        f"  {'method':32} NDCG AUC  PCC AUC",
    ]
    for summary in result.methods.values():
        figures = (format_figure(summary[auc]) for auc in ("ndcg_auc", "pcc_auc"))
        lines.append("  {:32} {:>8} {:>8}".format(summary["label"], *figures))
    for name, words in result.words.items():
        without, at_90, at_80 = (f"{100 * words[at]:.0f} %" for at in ("without", "at_90", "at_80"))
        lines.append(
            f"  {result.methods[name]['label']}: {without} of the top 10 hold a word; once it is added {at_90}, "
            f"where 90 % of the similarity is kept, and {at_80} at 80 %"
        )
    return "\n".join([*lines, f"Report: {short(Path(result.report))}"])


def table_text(result: "EvaluateResult") -> str:
    """The paper's Table 2, for people."""
    from tasks.evaluation.methods import in_paper_order

    lines = [f"{'method':32} {'NDCG AUC':21} PCC AUC"]
    for name in in_paper_order(result.methods):
        summary = result.methods[name]
        ndcg, pcc = (
            f"{format_figure(summary[auc]):>5} {interval_text(summary[f'{auc}_interval'])}"
            for auc in ("ndcg_auc", "pcc_auc")
        )
        lines.append(f"{summary['label']:32} {ndcg:21} {pcc}".rstrip())
    return "\n".join([*lines, f"Report: {short(Path(result.report))}"])
