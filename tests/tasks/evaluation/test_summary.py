import json

import numpy as np
import pytest

from tasks.errors import InputError
from tasks.evaluation.jackknife import estimate_aucs
from tasks.evaluation.summary import MethodSummary, best_methods, best_of, compare_with_baseline, summarise
from tasks.metrics.curves import NDCG_AT, cut_ranks, log_auc, mean_curve
from tasks.metrics.ndcg import ndcg
from tests.tasks.evaluation.making import rankings

Scores = dict[str, np.ndarray | list[np.ndarray]]
Summaries = dict[str, MethodSummary]


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    return np.random.default_rng(0).random((40, 60)) ** 4


@pytest.fixture(scope="module")
def scores(truth: np.ndarray) -> Scores:
    rng = np.random.default_rng(1)
    noise = rng.random(truth.shape)
    return {
        "random": [rng.random(truth.shape) for _ in range(3)],
        "captions": truth,
        "baseline_gap": truth + 2 * noise,
        "baseline_rmac": truth + 4 * noise,
        "v_v": truth + noise,
        "regression": truth + noise / 2,
        "vt_vt": truth + noise / 4,
    }


@pytest.fixture(scope="module")
def summaries(truth: np.ndarray, scores: Scores) -> Summaries:
    return summarise(rankings(truth, scores))


def test_the_oracle_scores_100(summaries: Summaries) -> None:
    oracle = summaries["captions"]
    assert (oracle.ndcg_auc, oracle.pcc_auc) == pytest.approx((100, 100))
    assert (oracle.ndcg_auc_linear, oracle.pcc_auc_linear) == pytest.approx((100, 100))
    assert oracle.ndcg_auc_interval == pytest.approx((100, 100))


def test_ranks_are_cut_to_the_images_there_are(summaries: Summaries) -> None:
    assert list(summaries["v_v"].ndcg) == [1, 2, 4, 8, 16, 32]
    assert list(summaries["v_v"].pcc) == [4, 8, 16, 32]


def test_several_runs_are_averaged(truth: np.ndarray, scores: Scores, summaries: Summaries) -> None:
    at = cut_ranks(NDCG_AT, truth.shape[1])
    runs = [log_auc(mean_curve(ndcg(truth, run, at)), at) for run in scores["random"]]
    assert summaries["random"].ndcg_auc == pytest.approx(np.mean(runs))


def test_trained_methods_are_compared_with_the_best_untrained(
    truth: np.ndarray, scores: Scores, summaries: Summaries
) -> None:
    gain = summaries["v_v"].gain
    assert gain is not None
    assert (gain.over, gain.pcc_over) == ("baseline_gap", "baseline_gap")
    aucs = estimate_aucs(rankings(truth, scores), seed=0)
    difference = aucs["v_v"][0] - aucs["baseline_gap"][0]
    assert gain.ndcg_auc == pytest.approx((summaries["v_v"].ndcg_auc or 0) - (summaries["baseline_gap"].ndcg_auc or 0))
    assert gain.ndcg_auc == pytest.approx(difference.value)
    assert gain.ndcg_auc_interval == pytest.approx(difference.interval())
    assert {name for name in summaries if summaries[name].gain} == {"v_v", "regression", "vt_vt"}


def test_each_metric_has_its_own_best_baseline(truth: np.ndarray) -> None:
    """Ranks that are right with scores that are no line, and the reverse."""
    noise = np.random.default_rng(1).random(truth.shape)
    ordered = np.exp(30 * (truth + 0.3 * noise))
    linear = np.where(truth > np.quantile(truth, 0.9), truth, -truth) + 0.2 * noise
    methods = summarise(rankings(truth, {"baseline_gap": ordered, "baseline_rmac": linear, "v_v": truth + noise}))
    gap, rmac, gain = methods["baseline_gap"], methods["baseline_rmac"], methods["v_v"].gain
    assert gain is not None
    assert (gap.ndcg_auc or 0) > (rmac.ndcg_auc or 0)
    assert (gap.pcc_auc or 0) < (rmac.pcc_auc or 0)
    assert (gain.over, gain.pcc_over) == ("baseline_gap", "baseline_rmac")
    assert gain.ndcg_auc == pytest.approx((methods["v_v"].ndcg_auc or 0) - (gap.ndcg_auc or 0))
    assert gain.pcc_auc == pytest.approx((methods["v_v"].pcc_auc or 0) - (rmac.pcc_auc or 0))


def test_trained_methods_are_compared_with_the_best_of_them(
    truth: np.ndarray, scores: Scores, summaries: Summaries
) -> None:
    to_best = summaries["v_v"].to_best
    assert to_best is not None
    assert (to_best.over, to_best.pcc_over) == ("regression", "regression")
    aucs = estimate_aucs(rankings(truth, scores), seed=0)
    difference = aucs["v_v"][1] - aucs["regression"][1]
    assert to_best.pcc_auc == pytest.approx(difference.value)
    assert to_best.pcc_auc_interval == pytest.approx(difference.interval())
    assert to_best.ndcg_auc == pytest.approx(summaries["v_v"].ndcg_auc - summaries["regression"].ndcg_auc)
    assert to_best.ndcg_auc < 0
    assert [name for name in summaries if summaries[name].to_best] == ["v_v"]  # (V+T,V+T) is no rival


def test_labels_json_and_seed(truth: np.ndarray, scores: Scores, summaries: Summaries) -> None:
    assert summaries["v_v"].label == "(V,V)"
    assert summarise(rankings(truth, {"v_v": truth}), {"v_v": "mine"})["v_v"].label == "mine"
    assert summarise(rankings(truth, scores)) == summaries
    dumped = json.loads(summaries["v_v"].model_dump_json())
    assert set(dumped["ndcg"]) == {"1", "2", "4", "8", "16", "32"}
    assert {"label", "ndcg", "pcc", "ndcg_auc", "pcc_auc", "ndcg_auc_interval", "pcc_auc_interval"} <= set(dumped)
    assert len(dumped["ndcg_auc_interval"]) == 2
    assert MethodSummary.model_validate(dumped) == summaries["v_v"]


def test_queries_without_a_value_are_counted_and_undefined_figures_are_null(truth: np.ndarray) -> None:
    truth = np.vstack([truth, np.zeros(truth.shape[1])])
    summary = summarise(rankings(truth, {"v_v": np.zeros_like(truth)}))["v_v"]
    assert (summary.ndcg_left_out, summary.pcc_left_out) == (1, len(truth))
    assert summary.pcc_auc is None
    assert summary.pcc_auc_interval is None
    assert set(summary.pcc.values()) == {None}
    assert "NaN" not in summary.model_dump_json()


def test_three_images_have_ndcg_alone() -> None:
    summary = summarise(rankings(np.array([[0.1, 0.2, 0.3]]), {"v_v": np.array([[3.0, 2.0, 1.0]])}))["v_v"]
    assert list(summary.ndcg) == [1, 2]
    assert (summary.pcc, summary.pcc_auc) == ({}, None)


def test_nothing_to_compare_is_refused() -> None:
    with pytest.raises(InputError, match="shares a caption word"):
        summarise(rankings(np.zeros((2, 3)), {"v_v": np.zeros((2, 3))}))


def test_people_are_shown_the_best_of_each_kind(summaries: Summaries) -> None:
    """Never (V+T,V+T), whose queries include captions."""
    assert (summaries["vt_vt"].ndcg_auc or 0) > (summaries["regression"].ndcg_auc or 0)
    assert best_methods(summaries) == ["baseline_gap", "regression"]
    assert best_methods({"baseline_gap": summaries["baseline_gap"]}) == ["baseline_gap"]
    assert best_methods({"random": summaries["random"]}) == []


def test_the_best_of_a_kind(summaries: Summaries) -> None:
    assert best_of(summaries, "untrained") == "baseline_gap"
    assert best_of(summaries, "untrained", "trained", auc="pcc_auc") == "regression"
    assert best_of({"random": summaries["random"]}, "trained") is None


@pytest.mark.parametrize(
    ("difference", "interval", "clause"),
    [
        (1.5, (0.1, 3.0), None),
        (1.5, (-0.1, 3.0), "is not clearly better than the best untrained baseline (GAP, {}): +1.5 (-0.1 to 3.0)"),
        (-1.5, (-3.0, 0.1), "does not beat the best untrained baseline (GAP, {}): -1.5 (-3.0 to 0.1)"),
    ],
)
def test_a_model_that_does_not_clearly_beat_the_baseline_is_reported(
    summaries: Summaries, difference: float, interval: tuple[float, float], clause: str | None
) -> None:
    method = summaries["v_v"]
    assert method.gain is not None
    gain = method.gain.model_copy(update={"ndcg_auc": difference, "ndcg_auc_interval": interval})
    found = compare_with_baseline({**summaries, "v_v": method.model_copy(update={"gain": gain})}, "v_v")
    assert found == (clause and clause.format(f"{summaries['baseline_gap'].ndcg_auc:.1f}"))


def test_the_untrained_network_as_a_model_is_compared_with_the_best_trained(truth: np.ndarray, scores: Scores) -> None:
    methods = summarise(rankings(truth, {**scores, "untrained": scores["baseline_gap"]}))
    gain, lead = methods["untrained"].gain, methods["untrained"].to_best
    assert gain is not None
    assert (gain.over, gain.ndcg_auc) == ("baseline_gap", 0)
    assert lead is not None
    assert lead.over == "regression"
    assert methods["v_v"].to_best == summarise(rankings(truth, scores))["v_v"].to_best
    assert lead.ndcg_auc_interval is not None
    assert lead.ndcg_auc is not None
    low, high = lead.ndcg_auc_interval
    ahead = lead.model_copy(update={"ndcg_auc": abs(lead.ndcg_auc)})
    behind = lead.model_copy(update={"ndcg_auc": -abs(lead.ndcg_auc)})
    for each, position in ((ahead, "ahead of"), (behind, "behind")):
        summary = methods["untrained"].model_copy(update={"to_best": each})
        assert compare_with_baseline({**methods, "untrained": summary}, "untrained") == (
            f"is the untrained network, which takes no words; it is {position} the best trained candidate (regression, "
            f"{methods['regression'].ndcg_auc:.1f}): {each.ndcg_auc:+.1f} ({low:.1f} to {high:.1f})"
        )
    alone = summarise(rankings(truth, {name: scores[name] for name in ("baseline_gap",)} | {"untrained": truth}))
    assert compare_with_baseline(alone, "untrained") == "is the untrained network, which takes no words"


def test_without_a_baseline_there_is_nothing_to_report(truth: np.ndarray) -> None:
    assert compare_with_baseline(summarise(rankings(truth, {"v_v": truth})), "v_v") is None
