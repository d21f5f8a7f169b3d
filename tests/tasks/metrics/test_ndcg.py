import math
from collections.abc import Sequence
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from tasks.metrics import ranked
from tasks.metrics.ndcg import ndcg

gains = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]), min_size=1, max_size=6)


def dcg(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(1 + rank) for rank, gain in enumerate(gains, start=1))


def slow_ndcg(relevance: Sequence[float], score: Sequence[float], at: int) -> float:
    """Mean over all orders of the columns that are sorted by score."""
    orders = [
        order for order in permutations(range(len(score))) if all(score[a] >= score[b] for a, b in pairwise(order))
    ]
    ideal = dcg(sorted(relevance, reverse=True)[:at])
    expected = sum(dcg([relevance[column] for column in order[:at]]) for order in orders) / len(orders)
    return expected / ideal if ideal else math.nan


@given(st.data(), gains)
def test_equals_the_mean_over_all_orders_of_equal_scores(data: st.DataObject, relevance: list[float]) -> None:
    score = data.draw(st.lists(st.integers(0, 2), min_size=len(relevance), max_size=len(relevance)))
    at = range(1, len(relevance) + 1)
    value_R = ndcg(np.array([relevance]), np.array([score]), at)[0]
    np.testing.assert_allclose(value_R, [slow_ndcg(relevance, score, rank) for rank in at], atol=1e-12)


def test_by_hand() -> None:
    value_QR = ndcg(np.array([[3.0, 2.0, 1.0]]), np.array([[0.1, 0.3, 0.2]]), at=[1, 2, 3])
    second = (2 + 1 / math.log2(3)) / (3 + 2 / math.log2(3))
    third = (2 + 1 / math.log2(3) + 3 / 2) / (3 + 2 / math.log2(3) + 1 / 2)
    np.testing.assert_allclose(value_QR, [[2 / 3, second, third]])


def test_perfect_scores_give_one_and_worse_ones_less() -> None:
    relevance_QN = np.random.default_rng(0).random((5, 30))
    np.testing.assert_allclose(ndcg(relevance_QN, relevance_QN, [1, 2, 30]), 1)
    assert (ndcg(relevance_QN, -relevance_QN, [1, 2, 30]) < 1).all()


@given(st.integers(0, 2**32 - 1), st.integers(0, 2))
def test_only_the_order_counts_and_values_lie_between_0_and_1(seed: int, decimals: int) -> None:
    rng = np.random.default_rng(seed)
    relevance_QN, score_QN = rng.random((3, 12)), rng.random((3, 12)).round(decimals)
    value_QR = ndcg(relevance_QN, score_QN, [1, 4, 12])
    assert ((value_QR >= 0) & (value_QR <= 1 + 1e-12)).all()
    np.testing.assert_array_equal(value_QR, ndcg(relevance_QN, 4 * score_QN + 8, [1, 4, 12]))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_small_floats_are_added_up_in_double_precision(dtype: type[np.floating]) -> None:
    relevance_QN = np.random.default_rng(0).random((4, 50)).astype(dtype)
    score_QN = np.random.default_rng(1).random((4, 50))
    expected = ndcg(relevance_QN.astype(np.float64), score_QN, [50])
    np.testing.assert_allclose(ndcg(relevance_QN, score_QN, [50]), expected, rtol=1e-14)


def test_a_query_without_relevant_images_has_no_value() -> None:
    value_QR = ndcg(np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[1.0, 2.0], [1.0, 2.0]]), at=[1, 2])
    assert np.isnan(value_QR[0]).all()
    assert value_QR[1].tolist() == [1, 1]


def test_no_ranks_and_no_queries_give_empty_values() -> None:
    assert ndcg(np.ones((2, 3)), np.ones((2, 3)), at=()).shape == (2, 0)
    assert ndcg(np.ones((0, 3)), np.ones((0, 3)), at=(1, 2)).shape == (0, 2)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    relevance_QN, score_QN = rng.random((9, 20)), rng.integers(0, 5, (9, 20))
    whole = ndcg(relevance_QN, score_QN, [1, 8])
    monkeypatch.setattr(ranked, "_VALUES_PER_BLOCK", 45)
    np.testing.assert_array_equal(ndcg(relevance_QN, score_QN, [1, 8]), whole)


def test_a_rank_past_the_end_takes_the_whole_list() -> None:
    """As in scikit-learn, ranx and trec_eval."""
    random = np.random.default_rng(0)
    relevance_QN, score_QN = random.random((3, 5)), random.integers(0, 3, (3, 5))
    value_QR = ndcg(relevance_QN, score_QN, [5, 6, 128])
    np.testing.assert_array_equal(value_QR, value_QR[:, [0, 0, 0]])
    by_sklearn = [ndcg_score(relevance_QN[[q]], score_QN[[q]], k=128) for q in range(3)]
    np.testing.assert_allclose(value_QR[:, 2], by_sklearn)
    assert np.isnan(ndcg(np.ones((2, 0)), np.ones((2, 0)), [1, 2])).all()
