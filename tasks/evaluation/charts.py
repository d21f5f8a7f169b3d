"""The charts of the report, as PNG files: NDCG and PCC by R, and visual against caption similarity."""

import io
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator
from scipy.optimize import isotonic_regression

from tasks.evaluation.methods import Kind, method_kind
from tasks.evaluation.summary import MethodSummary
from tasks.metrics.ranked import Floats

_INK, _FAINT = "#1f2430", "#727a88"
# The line style shows the kind of a method, so that charts read without colour too.
_COLOURS: dict[Kind, Sequence[str]] = {
    "reference": ("#8a92a0",),
    "features": ("#56b4e9",),
    "untrained": ("#56b4e9", "#0072b2", "#44aa99", "#117733"),
    "trained": ("#d55e00", "#aa3377", "#e69f00", "#222222"),
    "captioned": ("#6a3d9a",),
}
_STYLES: dict[Kind, dict[str, Any]] = {
    "reference": {"linestyle": ":", "linewidth": 1.6},
    "untrained": {"linestyle": "--", "linewidth": 1.4, "marker": "s", "markersize": 3},
    "features": {"linestyle": "--", "linewidth": 2.2, "marker": "o", "markersize": 4},
    "trained": {"linestyle": "-", "linewidth": 2.2, "marker": "o", "markersize": 4},
    "captioned": {"linestyle": "-.", "linewidth": 1.8, "marker": "^", "markersize": 4},
}
_SMALL = 9
_LABEL_GAP = 0.065  # height of a label, as a fraction of the axis
_SCATTER_POINTS = 4000
_SCATTER_BINS = 12


def curve_chart(summaries: Mapping[str, MethodSummary], which: Literal["ndcg", "pcc"]) -> bytes:
    """Plot the mean NDCG@R or PCC@R of each method by R, on a log2 axis → PNG (METHOD.md 6).

    The caption oracle is 1 at every R; it is mentioned in a note instead of drawn, so that the axis fits the others.
    """
    curves = {name: getattr(summary, which) for name, summary in summaries.items() if name != "captions"}
    figure = Figure(figsize=(5.2, 4.1), dpi=200, layout="constrained")
    axes = figure.add_subplot()
    colours = {kind: cycle(palette) for kind, palette in _COLOURS.items()}
    ends: list[tuple[str, str, int, float]] = []
    for name, curve in curves.items():
        kind = method_kind(name)
        colour = next(colours[kind])
        points = [(rank, value) for rank, value in curve.items() if value is not None]
        if points:
            axes.plot(*zip(*points, strict=True), color=colour, **_STYLES[kind])
            ends.append((summaries[name].label, colour, *points[-1]))
    _frame(axes, "Number of results R", f"Mean {which.upper()}@R")
    _log2_ranks(axes, sorted({rank for curve in curves.values() for rank in curve}))
    axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    _label_ends(axes, ends)
    if oracle := summaries.get("captions"):
        axes.set_title(f"{oracle.label}: 1 at every R (not drawn)", fontsize=_SMALL, color=_FAINT, loc="left")
    return _png(figure)


def scatter_chart(relevance_QN: Floats, scores: Mapping[str, Floats], *, seed: int = 0) -> bytes:
    """Plot visual against caption similarity in a panel for each label and its score_QN → PNG (METHOD.md 6).

    The dots are a seeded sample of all pairs of a query and an image; correlation and line are those of all pairs.
    """
    figure = Figure(figsize=(2.9 * len(scores), 3.3), dpi=200, layout="constrained")
    all_axes = figure.subplots(1, len(scores), squeeze=False)[0]
    truth_P = relevance_QN.ravel().astype(np.float64)
    count = min(_SCATTER_POINTS, truth_P.size)
    sample = np.random.default_rng(seed).choice(truth_P.size, count, replace=False)
    for axes, (label, score_QN) in zip(all_axes, scores.items(), strict=True):
        score_P = score_QN.ravel().astype(np.float64)
        axes.scatter(truth_P[sample], score_P[sample], s=5, alpha=0.25, color="#0072b2", linewidths=0)
        axes.plot(*_binned_means(truth_P, score_P), color="#d55e00", linewidth=2, marker="o", markersize=3.5)
        _frame(axes, "Caption similarity", "Visual similarity" if axes is all_axes[0] else "")
        correlation = np.corrcoef(truth_P, score_P)[0, 1]
        axes.set_title(f"{label}\ncorrelation {correlation:.2f}", fontsize=9.5, color=_INK, loc="left")
    return _png(figure)


def _binned_means(truth_P: Floats, score_P: Floats) -> tuple[Floats, Floats]:
    """Return (truth_B, score_B), the means of both in bins of equal width of the truth; empty bins are left out."""
    edges = np.linspace(truth_P.min(), truth_P.max(), _SCATTER_BINS + 1)
    bin_P = np.digitize(truth_P, edges[1:-1])
    size_B = np.bincount(bin_P, minlength=_SCATTER_BINS)
    used = size_B > 0
    truth_B, score_B = (
        np.bincount(bin_P, value_P, _SCATTER_BINS)[used] / size_B[used] for value_P in (truth_P, score_P)
    )
    return truth_B, score_B


def _frame(axes: Axes, x_label: str, y_label: str) -> None:
    axes.set_xlabel(x_label, fontsize=10, color=_INK)
    axes.set_ylabel(y_label, fontsize=10, color=_INK)
    axes.tick_params(labelsize=_SMALL, colors=_FAINT, length=3)
    axes.grid(color="#e6e8ec", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#c3c8d0")


def _log2_ranks(axes: Axes, ranks: Sequence[int]) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(ranks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:.0f}")


def _label_ends(axes: Axes, ends: Sequence[tuple[str, str, int, float]]) -> None:
    """Label the end (label, colour, x, y) of each line; labels are shifted by as little as keeps them apart."""
    low, high = axes.get_ylim()
    ends = sorted(ends, key=lambda end: end[3])
    step_L = _LABEL_GAP * np.arange(len(ends))
    height_L = np.array([(y - low) / (high - low) for *_, y in ends])
    apart_L = isotonic_regression(height_L - step_L).x + step_L if ends else height_L
    for (label, colour, x, y), place in zip(ends, np.minimum(apart_L, 1 - step_L[::-1]), strict=True):
        axes.annotate(
            label,
            xy=(x, y),
            xytext=(1.08, place),
            textcoords="axes fraction",
            fontsize=_SMALL,
            color=_INK,
            verticalalignment="center",
            arrowprops={"arrowstyle": "-", "color": colour, "relpos": (0, 0.5), "patchA": None, "shrinkA": 4},
        )


def _png(figure: Figure) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()
