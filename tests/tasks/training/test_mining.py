import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.training.mining import Pool, Relevance, Triplets, mine, sample_pool

seeds = st.integers(0, 2**32 - 1)
MARGIN = 0.125  # exact, as are the scores below: some losses are exactly 0


def some_relevance(seed: int, images: int = 24, k: int = 4) -> Relevance:
    """Random relevant images of each, some with fewer than k or none; some images are copies of others."""
    random = np.random.default_rng(seed)
    copy_N = random.integers(0, images - 4, images)
    index_NK = np.full((images, k), -1)
    for row in range(images):
        others = np.flatnonzero(copy_N != copy_N[row])
        found = random.permutation(others)[: random.integers(0, k + 1)]
        index_NK[row, : len(found)] = found
    index_NK[0] = [row for row in range(images) if copy_N[row] != copy_N[0]][:k]
    return Relevance(index_NK, copy_N)


def some_embeddings(seed: int, count: int) -> torch.Tensor:
    """Embeddings whose dot products have no rounding, with some equal ones."""
    return torch.randint(-2, 3, (count, 4), generator=torch.Generator().manual_seed(seed)).float() / 4


def pool_of(relevance: Relevance, seed: int, queries: int = 6, relevant: int = 2, limit: int = 100) -> Pool:
    return sample_pool(relevance, queries, relevant, limit, np.random.default_rng(seed))


def slow_triplets(
    pool: Pool, embedding_PD: torch.Tensor, relevance: Relevance, margin: float = MARGIN
) -> dict[tuple[int, int], list[tuple[float, int]]]:
    """For each pair all (loss, non-relevant image) with loss > 0, largest first."""
    vector = dict(zip(pool.row_P.tolist(), embedding_PD.double(), strict=True))
    found: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for q, relevant in zip(pool.query_Q.tolist(), pool.relevant_QR.tolist(), strict=True):
        for r in relevant:
            if r < 0:
                continue
            losses = [
                (0.5 * (margin - float(vector[q] @ vector[r]) + float(vector[q] @ vector[n])), n)
                for n in pool.row_P.tolist()
                if n not in relevance.index_NK[q] and relevance.copy_N[n] != relevance.copy_N[q]
            ]
            found[q, r] = sorted((item for item in losses if item[0] > 0), reverse=True)
    return found


def mine_images(pool: Pool, embedding_PD: torch.Tensor, relevance: Relevance, hardest: int, margin: float) -> Triplets:
    return mine(pool, embedding_PD, embedding_PD, relevance, hardest, margin)


def drawn(triplets: Triplets, size: int = 7, seed: int = 0) -> list[tuple[int, int, int]]:
    """All triplets, by drawing until none is left."""
    batches = triplets.batches(10**6, size, np.random.default_rng(seed))
    return [tuple(triplet) for batch in batches for triplet in batch.tolist()]


@settings(deadline=None)
@given(seeds)
def test_without_a_limit_all_triplets_with_a_loss_are_found(seed: int) -> None:
    relevance = some_relevance(seed)
    pool = pool_of(relevance, seed)
    embedding_PD = some_embeddings(seed, len(pool.row_P))
    expected = slow_triplets(pool, embedding_PD, relevance)
    triplets = mine_images(pool, embedding_PD, relevance, 1000, MARGIN)
    every = {(q, r, n) for (q, r), losses in expected.items() for _, n in losses}
    assert triplets.count == len(every)
    assert len(drawn(triplets)) == len(every)
    assert set(drawn(triplets)) == every


@settings(deadline=None)
@given(seeds, st.integers(1, 6))
def test_the_hardest_of_each_pair_are_kept(seed: int, hardest: int) -> None:
    relevance = some_relevance(seed)
    pool = pool_of(relevance, seed)
    embedding_PD = some_embeddings(seed, len(pool.row_P))
    expected = slow_triplets(pool, embedding_PD, relevance)
    triplets = mine_images(pool, embedding_PD, relevance, hardest, MARGIN)
    assert triplets.count == sum(len(losses[:hardest]) for losses in expected.values())
    loss_of = {(q, r, n): loss for (q, r), losses in expected.items() for loss, n in losses}
    kept: dict[tuple[int, int], list[float]] = {}
    for q, r, n in drawn(triplets):
        kept.setdefault((q, r), []).append(loss_of[q, r, n])
    for pair, losses in kept.items():
        assert sorted(losses, reverse=True) == [loss for loss, _ in expected[pair][:hardest]]


def test_by_hand() -> None:
    relevance = Relevance(np.array([[1, -1], [0, -1], [3, -1], [2, -1], [-1, -1]]), np.array([0, 1, 2, 3, 0]))
    pool = Pool(np.array([0]), np.array([[1, -1]]), np.array([0, 1, 2, 3, 4]))
    embedding_PD = torch.tensor([[1.0], [0.5], [0.45], [0.3], [1.0]])
    triplets = mine_images(pool, embedding_PD, relevance, 10, MARGIN)
    assert drawn(triplets) == [(0, 1, 2)]  # image 3 is far enough, image 4 is a copy of the query
    assert triplets.active_share == pytest.approx(1 / 2)


def test_an_embedding_that_satisfies_all_has_no_triplet() -> None:
    relevance = Relevance(np.array([[1], [0], [3], [2]]), np.arange(4))
    pool = pool_of(relevance, 0, queries=4, relevant=1)
    triplets = mine_images(pool, torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1]]), relevance, 10, MARGIN)
    assert (triplets.count, triplets.active_share, drawn(triplets)) == (0, 0, [])


def test_where_all_others_are_relevant_there_is_no_triplet() -> None:
    relevance = Relevance(np.array([[1, 2], [0, 2], [0, 1]]), np.arange(3))
    triplets = mine_images(pool_of(relevance, 0), some_embeddings(0, 3), relevance, 10, MARGIN)
    assert triplets.count == 0


def some_triplets() -> Triplets:
    relevance = some_relevance(0)
    pool = pool_of(relevance, 0)
    return mine_images(pool, some_embeddings(0, len(pool.row_P)), relevance, 10, MARGIN)


def test_batches_are_full_until_the_triplets_run_out() -> None:
    triplets = some_triplets()
    sizes = [len(batch) for batch in triplets.batches(3, 5, np.random.default_rng(0))]
    assert sizes == [5, 5, 5]
    sizes = [len(batch) for batch in triplets.batches(1000, 64, np.random.default_rng(0))]
    assert sum(sizes) == triplets.count
    assert all(size == 64 for size in sizes[:-1])


def test_drawing_is_seeded_and_even() -> None:
    triplets = some_triplets()
    assert drawn(triplets, seed=1) == drawn(triplets, seed=1)
    assert drawn(triplets, seed=1) != drawn(triplets, seed=2)
    random = np.random.default_rng(0)
    firsts = [tuple(next(triplets.batches(1, 1, random))[0].tolist()) for _ in range(40 * triplets.count)]
    times = np.array([firsts.count(triplet) for triplet in drawn(triplets)])
    assert times.sum() == len(firsts)
    assert abs(times - 40).max() < 5 * 40**0.5


@given(seeds, st.integers(1, 30), st.integers(1, 5), st.integers(1, 40))
def test_a_pool_holds_whole_queries_up_to_its_limit(seed: int, queries: int, relevant: int, limit: int) -> None:
    relevance = some_relevance(seed)
    whole = pool_of(relevance, seed, queries, relevant, limit=10**6)
    pool = pool_of(relevance, seed, queries, relevant, limit)

    def rows(kept: int) -> set[int]:
        return {*whole.query_Q[:kept].tolist(), *whole.relevant_QR[:kept].ravel().tolist()} - {-1}

    fitting = [kept for kept in range(1, len(whole.query_Q) + 1) if len(rows(kept)) <= limit]
    kept = max(fitting, default=1)
    np.testing.assert_array_equal(pool.query_Q, whole.query_Q[:kept])
    np.testing.assert_array_equal(pool.relevant_QR, whole.relevant_QR[:kept])
    assert pool.row_P.tolist() == sorted(rows(kept))


@given(seeds, st.integers(1, 30), st.integers(1, 5))
def test_queries_and_their_relevant_images_are_drawn_without_repeats(seed: int, queries: int, relevant: int) -> None:
    relevance = some_relevance(seed)
    pool = pool_of(relevance, seed, queries, relevant)
    assert len(set(pool.query_Q.tolist())) == len(pool.query_Q) == min(queries, len(relevance.queries()))
    for query, drawn_R in zip(pool.query_Q, pool.relevant_QR, strict=True):
        there = set(relevance.index_NK[query].tolist()) - {-1}
        found = [row for row in drawn_R.tolist() if row >= 0]
        assert set(found) <= there
        assert len(set(found)) == len(found) == min(relevant, len(there))


def test_queries_are_the_images_with_relevant_ones() -> None:
    relevance = Relevance(np.array([[1, -1], [-1, -1], [0, 1]]), np.arange(3))
    assert relevance.queries().tolist() == [0, 2]


def test_sampling_is_seeded() -> None:
    relevance = some_relevance(0)
    same, again, other = (pool_of(relevance, seed) for seed in (1, 1, 2))
    assert same.query_Q.tolist() == again.query_Q.tolist() != other.query_Q.tolist()
    assert same.relevant_QR.tolist() == again.relevant_QR.tolist()


@settings(deadline=None)
@given(seeds)
def test_a_query_embedded_by_words_is_mined_against_what_is_found(seed: int) -> None:
    relevance = some_relevance(seed)
    pool = pool_of(relevance, seed)
    query_PD, found_PD = some_embeddings(seed, len(pool.row_P)), some_embeddings(seed + 1, len(pool.row_P))
    place = {row: place for place, row in enumerate(pool.row_P.tolist())}
    losses = {
        (q, r, n): MARGIN - float(query_PD[place[q]] @ (found_PD[place[r]] - found_PD[place[n]]))
        for q, r, n in drawn(mine(pool, query_PD, found_PD, relevance, 1000, MARGIN))
    }
    assert all(loss > 0 for loss in losses.values())
    every = slow_triplets(pool, torch.zeros_like(query_PD), relevance)  # at zero, all have a loss
    for (q, r), others in every.items():
        for _, n in others:
            loss = MARGIN - float(query_PD[place[q]] @ (found_PD[place[r]] - found_PD[place[n]]))
            assert ((q, r, n) in losses) == (loss > 0)


def test_triplets_of_one_query_share_images() -> None:
    relevance = some_relevance(1, images=200, k=12)
    pool = sample_pool(relevance, 60, 6, 1000, np.random.default_rng(0))
    triplets = mine_images(pool, some_embeddings(0, len(pool.row_P)), relevance, 1000, MARGIN)

    def images(per_query: int) -> float:
        batches = list(triplets.batches(20, 48, np.random.default_rng(0), per_query))
        assert [len(batch) for batch in batches] == [48] * 20
        return float(np.mean([len(np.unique(batch)) for batch in batches]))

    for start in range(0, 48, 8):
        batch = next(triplets.batches(20, 48, np.random.default_rng(0), 8))[start : start + 8]
        assert len({*batch[:, 0]}) == 1
        assert len({tuple(triplet) for triplet in batch.tolist()}) == 8
    assert images(8) < 0.85 * images(1)


def test_a_query_with_few_triplets_gives_those_it_has() -> None:
    triplets = Triplets(
        query_I=np.array([0, 1]),
        relevant_I=np.array([2, 3]),
        list_I=np.array([0, 1]),
        active_I=np.array([2, 9]),
        hardest_LH=np.arange(20).reshape(2, 10),
        considered=20,
    )
    drawn_T3 = np.concatenate([*triplets.batches(100, 4, np.random.default_rng(0), per_query=5)])
    assert len(np.unique(drawn_T3, axis=0)) == len(drawn_T3)
    assert {tuple(triplet) for triplet in drawn_T3.tolist()} <= set(drawn(triplets))


@pytest.mark.parametrize("per_query", [1, 8])
def test_no_triplets_give_no_batch(per_query: int) -> None:
    relevance = Relevance(np.array([[1], [0], [3], [2]]), np.arange(4))
    embedding_PD = torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    triplets = mine_images(pool_of(relevance, 0, queries=4, relevant=1), embedding_PD, relevance, 10, MARGIN)
    assert list(triplets.batches(5, 4, np.random.default_rng(0), per_query)) == []
