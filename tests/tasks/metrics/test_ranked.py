import numpy as np
import pytest

from tasks.metrics import ranked
from tasks.metrics.ranked import drop_self, ranked_blocks


def test_drop_self_removes_each_rows_own_column() -> None:
    matrix_QN = np.arange(12.0).reshape(3, 4)
    assert drop_self(matrix_QN, np.array([0, 3, 1])).tolist() == [[1, 2, 3], [4, 5, 6], [8, 10, 11]]


def test_best_first_and_equal_scores_in_column_order() -> None:
    [(rows, relevance_BN, score_BN)] = ranked_blocks(
        np.array([[0.1, 0.2, 0.3, 0.4]]), np.array([[1.0, 2.0, 1.0, 2.0]]), at=[4]
    )
    assert rows.start == 0
    assert relevance_BN.tolist() == [[0.2, 0.4, 0.1, 0.3]]
    assert score_BN.tolist() == [[2, 2, 1, 1]]


def test_blocks_cover_all_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked, "_VALUES_PER_BLOCK", 12)
    score_QN = np.random.default_rng(0).random((7, 5))
    blocks = list(ranked_blocks(score_QN, score_QN, at=[1]))
    assert [len(score_BN) for _, _, score_BN in blocks] == [2, 2, 2, 1]
    assert np.array_equal(np.concatenate([score_BN for _, _, score_BN in blocks]), -np.sort(-score_QN, axis=1))


@pytest.mark.parametrize(
    ("relevance", "score", "at", "message"),
    [
        (np.zeros((2, 3)), np.zeros((2, 4)), [1], "equal shape"),
        (np.zeros(3), np.zeros(3), [1], "equal shape"),
        (np.zeros((2, 3)), np.zeros((2, 3)), [1, 0], "Ranks start at 1; got 0"),
        (np.zeros((1, 2)), np.array([[0.0, np.nan]]), [1], "finite"),
        (np.array([[0.0, np.inf]]), np.zeros((1, 2)), [1], "finite"),
    ],
)
def test_what_cannot_be_ranked_is_refused(
    relevance: np.ndarray, score: np.ndarray, at: list[int], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        list(ranked_blocks(relevance, score, at))
