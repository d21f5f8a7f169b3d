import numpy as np
import pytest

from tasks.evaluation.bootstrap import auc_interval, paired_difference, percentile_interval, resample_queries
from tasks.metrics.curves import log_auc, mean_curve

AT = (1, 2, 4)


def test_resamples_draw_as_many_queries_as_there_are_by_seed() -> None:
    weight_BQ = resample_queries(20, seed=3, resamples=50)
    assert weight_BQ.shape == (50, 20)
    assert (weight_BQ.sum(axis=1) == 20).all()
    assert np.array_equal(weight_BQ, resample_queries(20, seed=3, resamples=50))
    assert not np.array_equal(weight_BQ, resample_queries(20, seed=4, resamples=50))


def test_the_interval_brackets_the_auc_and_has_the_width_of_its_standard_error() -> None:
    value_QR = np.repeat(np.random.default_rng(0).random((400, 1)), len(AT), axis=1)
    low, high = auc_interval(value_QR, AT, resample_queries(400, seed=0))
    assert low < log_auc(mean_curve(value_QR), AT) < high
    standard_error = 100 * value_QR[:, 0].std() / np.sqrt(400)
    assert high - low == pytest.approx(2 * 1.96 * standard_error, rel=0.1)


def test_equals_drawing_whole_queries() -> None:
    value_QR = np.random.default_rng(0).random((6, len(AT)))
    value_QR[2, 1] = np.nan
    weight_BQ = resample_queries(6, seed=0, resamples=40)
    drawn = [np.repeat(np.arange(6), weight_Q.astype(int)) for weight_Q in weight_BQ]
    slow_B = np.array([log_auc(mean_curve(value_QR[queries]), AT) for queries in drawn])
    np.testing.assert_allclose(auc_interval(value_QR, AT, weight_BQ), percentile_interval(slow_B))


def test_a_steady_difference_is_certain_where_the_methods_alone_are_not() -> None:
    value_QR = np.random.default_rng(0).random((50, len(AT)))
    weight_BQ = resample_queries(50, seed=0)
    difference, (low, high) = paired_difference(value_QR + 0.01, value_QR, AT, weight_BQ)
    assert (difference, low, high) == pytest.approx((1, 1, 1))
    low, high = auc_interval(value_QR, AT, weight_BQ)
    assert high - low > 5


def test_resamples_without_a_value_are_passed_over() -> None:
    assert percentile_interval(np.array([np.nan, 2.0, 2.0])) == (2, 2)
    assert np.isnan(percentile_interval(np.array([np.nan]))).all()
