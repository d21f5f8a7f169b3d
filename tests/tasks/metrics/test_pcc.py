import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr

from tasks.metrics import ranked
from tasks.metrics.pcc import pcc


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 8]))
def test_equals_scipy_over_the_top_by_score_then_column(seed: int, decimals: int) -> None:
    rng = np.random.default_rng(seed)
    relevance_QN, score_QN = rng.random((3, 20)), rng.random((3, 20)).round(decimals)
    for value_R, relevance_N, score_N in zip(pcc(relevance_QN, score_QN, [8, 20]), relevance_QN, score_QN, strict=True):
        order = sorted(range(20), key=lambda column: (-score_N[column], column))
        expected = [pearsonr(relevance_N[order[:rank]], score_N[order[:rank]]).statistic for rank in (8, 20)]
        np.testing.assert_allclose(value_R, expected, atol=1e-12)


def test_a_straight_line_is_one_and_scale_does_not_count() -> None:
    relevance_QN = np.random.default_rng(0).random((4, 16))
    np.testing.assert_allclose(pcc(relevance_QN, 3 * relevance_QN - 5, [4, 16]), 1)
    np.testing.assert_allclose(pcc(relevance_QN, -relevance_QN, [16]), -1)


@pytest.mark.parametrize(
    "constant_N",
    [np.zeros(6), np.full(6, 0.1), np.array([0.3, 0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2, 0.3])],
    ids=["zero", "equal", "equal up to rounding"],
)
def test_a_constant_side_has_no_value(constant_N: np.ndarray) -> None:
    other_N = np.arange(6.0)
    assert np.isnan(pcc(constant_N[None], other_N[None], [4, 6])).all()
    assert np.isnan(pcc(other_N[None], constant_N[None], [4, 6])).all()


def test_single_precision_rounding_is_constant_too() -> None:
    score_QN = np.array([[0.9, 0.9, 0.9 + 6e-8, 0.9]], dtype=np.float32)
    assert score_QN.min() < score_QN.max()
    assert np.isnan(pcc(np.array([[0.1, 0.2, 0.3, 0.4]]), score_QN, [4])).all()


def test_a_small_spread_that_is_no_rounding_counts() -> None:
    score_QN = 1 + 1e-9 * np.array([[4.0, 3.0, 2.0, 1.0]])
    np.testing.assert_allclose(pcc(np.array([[4.0, 3.0, 2.0, 1.0]]), score_QN, [4]), 1)


def test_one_image_has_no_correlation_and_no_ranks_give_empty_values() -> None:
    assert np.isnan(pcc(np.ones((1, 3)), np.arange(3.0)[None], [1])).all()
    assert pcc(np.ones((2, 3)), np.ones((2, 3)), ()).shape == (2, 0)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    relevance_QN, score_QN = rng.random((9, 20)), rng.integers(0, 5, (9, 20))
    whole = pcc(relevance_QN, score_QN, [4, 8])
    monkeypatch.setattr(ranked, "_VALUES_PER_BLOCK", 45)
    np.testing.assert_array_equal(pcc(relevance_QN, score_QN, [4, 8]), whole)


def test_a_rank_past_the_end_takes_the_whole_list() -> None:
    random = np.random.default_rng(0)
    value_QR = pcc(random.random((3, 5)), random.random((3, 5)), [5, 6, 128])
    np.testing.assert_array_equal(value_QR, value_QR[:, [0, 0, 0]])
    assert np.isnan(pcc(np.ones((2, 0)), np.ones((2, 0)), [1, 2])).all()
