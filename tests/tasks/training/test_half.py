import numpy as np
import pytest

from tasks.training.half import compare_with_half, draw_half


def test_half_of_the_images_is_drawn_by_seed_in_order() -> None:
    half_N = draw_half(9, seed=1)
    assert len(half_N) == 4
    assert (np.diff(half_N) > 0).all()
    assert np.array_equal(half_N, draw_half(9, seed=1))
    assert {tuple(draw_half(9, seed)) for seed in range(5)} != {tuple(half_N)}


def test_a_gain_is_clear_if_it_exceeds_two_standard_errors() -> None:
    half_auc_Q = np.array([10.0, 20, 30, 40, np.nan])
    fit = compare_with_half(half_auc_Q + np.array([1, 2, 3, 2, 0]), half_auc_Q, 50)
    assert (fit.images, fit.ndcg_auc, fit.gain) == (50, 25, 2)
    assert fit.gain_error == pytest.approx(np.sqrt(2 / 3 / 4))
    assert fit.is_clear_gain
    assert not compare_with_half(half_auc_Q + np.array([9, -8, 3, 2, 0]), half_auc_Q, 50).is_clear_gain
    assert not compare_with_half(half_auc_Q - 2, half_auc_Q, 50).is_clear_gain


def test_a_single_query_shows_no_gain() -> None:
    fit = compare_with_half(np.array([2.0, np.nan]), np.array([1.0, np.nan]), 4)
    assert (fit.gain, fit.gain_error, fit.is_clear_gain) == (1, None, False)
    assert not fit.is_precise


@pytest.mark.parametrize(("queries", "is_precise"), [(20, False), (2000, True)])
def test_a_small_gain_is_recognised_with_enough_queries(queries: int, is_precise: bool) -> None:
    half_auc_Q = np.random.default_rng(0).uniform(0, 100, queries)
    change_Q = np.where(np.arange(queries) % 2, 10, -10)
    fit = compare_with_half(half_auc_Q + change_Q, half_auc_Q, 50)
    assert (fit.is_clear_gain, fit.is_precise) == (False, is_precise)
