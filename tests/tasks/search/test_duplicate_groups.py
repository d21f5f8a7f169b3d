from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tasks.search import duplicate_groups
from tasks.search.duplicate_groups import find_duplicates


def by_hand(embedding_ND: np.ndarray, digests: list[str], threshold: float) -> list[list[int]]:
    """Groups of rows by walking from row to row."""
    value_ND = embedding_ND.astype(np.float64)
    alike: dict[int, set[int]] = {row: set() for row in range(len(digests))}
    for one, two in combinations(alike, 2):
        if digests[one] == digests[two] or np.float32(value_ND[one] @ value_ND[two]) >= threshold:
            alike[one].add(two)
            alike[two].add(one)
    groups, seen = [], set()
    for row in alike:
        group, waiting = set(), [row]
        while waiting:
            if (one := waiting.pop()) not in group:
                group.add(one)
                waiting += alike[one]
        if row not in seen and len(group) > 1:
            groups.append(sorted(group))
        seen |= group
    return sorted(groups, key=lambda group: (-len(group), group[0]))


@given(
    angle_N=arrays(np.float32, st.integers(0, 25), elements=st.integers(0, 60).map(lambda value: value / 10)),
    digest=st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), min_size=25, max_size=25),
    block=st.integers(1, 9),
    pairs=st.integers(1, 9),
    threshold=st.sampled_from([0.9, 0.99, 1.0]),
)
def test_groups_are_those_found_by_hand(
    angle_N: np.ndarray, digest: list[str], block: int, pairs: int, threshold: float
) -> None:
    digests = digest[: len(angle_N)]
    first = {name: digests.index(name) for name in digests}
    angle_N = angle_N[[first[name] for name in digests]] if digests else angle_N  # equal bytes have equal embeddings
    embedding_ND = np.stack([np.cos(angle_N), np.sin(angle_N)], axis=1).astype(np.float16)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicate_groups, "BLOCK_ROWS", block)
        patch.setattr(duplicate_groups, "PAIRS", pairs)
        found = find_duplicates(embedding_ND, digests, threshold)
    assert [rows.tolist() for rows in found.groups] == by_hand(embedding_ND, digests, threshold)
    assert found.first_N.tolist() == [first[name] for name in digests]
    value_ND = embedding_ND.astype(np.float64)
    for row, (nearest, score) in enumerate(zip(found.nearest_N, found.score_N, strict=True)):
        others = [other for other in range(len(digests)) if other != row]
        copies = [other for other in others if digests[other] == digests[row]]
        scores = {
            other: np.float32(value_ND[row] @ value_ND[other]) for other in others if other == first[digests[other]]
        }
        near = {other: score for other, score in scores.items() if score >= threshold}
        if copies:
            assert (nearest, score) == (copies[0], 1)
        elif near:
            assert (nearest, score) == min(near.items(), key=lambda item: (-item[1], item[0]))
        else:
            assert (nearest, score) == (-1, -np.inf)


def test_progress_tells_of_every_row() -> None:
    told: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duplicate_groups, "BLOCK_ROWS", 3)
        find_duplicates(np.eye(8, dtype=np.float16), list("abcdefgh"), 0.5, told.append)
    assert told == [3, 3, 2]
