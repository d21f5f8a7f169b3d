import numpy as np
import pytest
from scipy.sparse import csr_array

from tasks.evaluation.jackknife import GROUPS, Estimate, estimate_aucs, groups, jackknife_variance
from tasks.evaluation.rankings import Rankings, rank_images
from tests.tasks.evaluation.making import rankings

TOPICS, WORDS, DIMENSION = 20, 300, 40


@pytest.mark.parametrize("count", [1, 7, 50, 120])
def test_groups_hold_every_item_once_and_are_seeded(count: int) -> None:
    found = list(groups(count, seed=1))
    assert len(found) == min(count, GROUPS)
    assert (np.sum(found, axis=0) == 1).all()
    sizes = [group_N.sum() for group_N in found]
    assert max(sizes) - min(sizes) <= 1
    np.testing.assert_array_equal(found, list(groups(count, seed=1)))


def test_the_variance_of_a_mean_is_the_textbook_one() -> None:
    value_N = np.random.default_rng(0).normal(size=40)
    left_out_N = np.array([np.delete(value_N, place).mean() for place in range(40)])
    assert jackknife_variance(left_out_N) == pytest.approx(value_N.var(ddof=1) / 40)


def test_a_steady_difference_is_certain_where_the_methods_alone_are_not() -> None:
    random = np.random.default_rng(0)
    left_out_G, change_GQ = random.normal(size=20), np.zeros((20, 5))
    one, other = Estimate(50.0, left_out_G + 50, change_GQ), Estimate(49.0, left_out_G + 49, change_GQ)
    assert (one - other).interval() == pytest.approx((1, 1))
    low, high = one.interval()
    assert high - low > 5
    assert one.interval(49, 51) == (49, 51)


def test_what_is_undefined_has_no_interval() -> None:
    assert np.isnan(Estimate(np.nan, np.array([1.0, 2.0]), np.zeros((2, 3))).interval()).all()
    assert np.isnan(Estimate(1.0, np.array([np.nan, 2.0]), np.zeros((2, 3))).interval()).all()


def test_the_oracle_is_certain() -> None:
    truth_QN = np.random.default_rng(0).random((30, 50))
    ndcg, pcc = estimate_aucs(rankings(truth_QN, {"captions": truth_QN}), seed=0)["captions"]
    assert (ndcg.value, pcc.value) == pytest.approx((100, 100))
    assert (*ndcg.interval(), *pcc.interval()) == pytest.approx((100,) * 4)


def population(images: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images of mixed topics: their tf-idf, and two embeddings that know the topics more or less well."""
    random = np.random.default_rng(0)
    word_TV = np.exp(1.5 * random.normal(size=(TOPICS, WORDS)))
    topic_NT = random.dirichlet(np.full(TOPICS, 0.15), size=images)
    probability_NV = topic_NT @ (word_TV / word_TV.sum(axis=1, keepdims=True))
    count_NV = random.multinomial(25, probability_NV / probability_NV.sum(axis=1, keepdims=True))
    idf_V = np.log(1 / np.maximum((count_NV > 0).mean(axis=0), 1e-3))
    axis_TD = random.normal(size=(TOPICS, DIMENSION))
    noisy = [topic_NT @ axis_TD + noise * random.normal(size=(images, DIMENSION)) for noise in (0.5, 0.9)]
    tfidf_NV, one_ND, other_ND = (
        value / np.linalg.norm(value, axis=1, keepdims=True) for value in (count_NV * idf_V, *noisy)
    )
    return tfidf_NV, one_ND, other_ND


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    """Collections drawn from one population: the intervals of an AUC and of a difference hold its mean over all."""
    tfidf_NV, one_ND, other_ND = population(20_000)
    found = []
    for draw in range(120):
        rows = np.random.default_rng(draw).choice(len(tfidf_NV), 120, replace=False)
        embeddings = {"one": one_ND[rows], "other": other_ND[rows]}
        ranked = rank_images(csr_array(tfidf_NV[rows]), np.arange(120), embeddings, {}, seed=0)
        runs = {name: ranked.runs[name] for name in embeddings}
        aucs = estimate_aucs(Rankings(ranked.images, ranked.ranked, ranked.query_Q, ranked.ideal, runs), seed=draw)
        one, other = aucs["one"], aucs["other"]
        estimates = [*one, one[0] - other[0], one[1] - other[1]]
        found.append([(estimate.value, *estimate.interval()) for estimate in estimates])
    value_DE, low_DE, high_DE = np.moveaxis(np.array(found), 2, 0)
    coverage_E = ((low_DE <= value_DE.mean(axis=0)) & (value_DE.mean(axis=0) <= high_DE)).mean(axis=0)
    assert (coverage_E >= 0.91).all()  # 95% within two standard errors of 120 draws
    half_width_E = (high_DE - low_DE).mean(axis=0) / 2
    assert (half_width_E < 1.4 * 1.96 * value_DE.std(axis=0)).all()
