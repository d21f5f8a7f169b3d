import numpy as np

from tasks.search.modifiers import steer

X, Y, Z = np.eye(3, dtype=np.float32)


def test_a_query_moves_by_the_formula() -> None:
    moved_D = steer(X, [(1.0, Y), (-0.5, Z)])
    np.testing.assert_allclose(moved_D, np.array([1, 1, -0.5]) / 1.5, rtol=1e-6)


def test_without_moves_it_stays() -> None:
    np.testing.assert_array_equal(steer(X, []), X)


def test_where_all_cancels_the_start_stays() -> None:
    np.testing.assert_array_equal(steer(X, [(-1.0, X)]), X)
