from collections.abc import Callable

import numpy as np
import pytest

from tasks.metrics.curves import (
    NDCG_AT,
    PCC_AT,
    cut_ranks,
    left_out,
    linear_auc,
    log_auc,
    mean_curve,
    weighted_curves,
)


def test_ranks_are_the_powers_of_two_that_the_images_reach() -> None:
    assert cut_ranks(NDCG_AT, 999) == (1, 2, 4, 8, 16, 32, 64, 128)
    assert cut_ranks(PCC_AT, 999) == (4, 8, 16, 32, 64, 128)
    assert cut_ranks(NDCG_AT, 5) == (1, 2, 4)
    assert cut_ranks(PCC_AT, 3) == ()


@pytest.mark.parametrize("auc", [log_auc, linear_auc])
@pytest.mark.parametrize("at", [NDCG_AT, PCC_AT, (1, 2), (1,)])
def test_a_constant_curve_has_its_height(auc: Callable[..., float], at: tuple[int, ...]) -> None:
    np.testing.assert_allclose(auc(np.full(len(at), 0.37), at), 37)


def test_auc_by_hand() -> None:
    value_R = np.array([0.0, 1.0, 1.0])
    assert log_auc(value_R, (1, 2, 8)) == pytest.approx(100 * (0.5 * 1 + 1 * 2) / 3)
    assert linear_auc(value_R, (1, 2, 8)) == pytest.approx(100 * (0.5 * 1 + 1 * 6) / 7)


def test_auc_keeps_leading_axes_and_is_undefined_without_ranks() -> None:
    assert log_auc(np.array([[0.0, 0.0], [1.0, 1.0]]), (1, 2)).tolist() == [0, 100]
    assert np.isnan(log_auc(np.empty(0), ()))


def test_the_mean_leaves_out_queries_without_a_value_and_counts_them() -> None:
    value_QR = np.array([[0.2, 0.4], [np.nan, 0.6], [np.nan, np.nan], [0.4, 0.5]])
    np.testing.assert_allclose(mean_curve(value_QR), [0.3, 0.5])
    assert left_out(value_QR) == 2
    assert np.isnan(mean_curve(np.full((2, 2), np.nan))).all()


def test_weights_stand_for_repeated_queries() -> None:
    value_QR = np.array([[0.0, 1.0], [0.5, np.nan], [1.0, 0.0]])
    curve_BR = weighted_curves(value_QR, np.array([[2.0, 1.0, 0.0]]))
    np.testing.assert_allclose(curve_BR, mean_curve(value_QR[[0, 0, 1]])[None])
