"""Approximate nearest neighbours for very large indexes: a query probes some of many inverted lists (faiss).

The lists store float16 vectors up to a few million images, product-quantised codes for more. Either way they only
propose candidates, which are then scored exactly from the vectors of the index.
"""

from pathlib import Path
from typing import Any

import faiss
import numpy as np

from tasks.errors import InputError
from tasks.search.ranking import Vectors, rank

FLAT_ROWS = 4_000_000  # for more, lists store codes
BLOCK_ROWS = 65_536
TRAINING_ROWS = 40  # per list
CANDIDATES = 16  # per result
DEPTHS = (10, 100)  # numbers of results at which recall is measured
QUERIES = 100
TARGET_RECALL = 0.999
ROUNDING = 1e-6  # scores may be summed in another order


def build(embedding_ND: np.ndarray) -> Any:
    """Build a faiss index of all rows, trained on a seeded sample of them."""
    count, dimension = embedding_ND.shape
    lists = max(1, min(int(2 * count**0.5), count // TRAINING_ROWS))
    subvectors = max(each for each in range(1, max(2, dimension // 4 + 1)) if dimension % each == 0)
    codes = "SQfp16" if count <= FLAT_ROWS else f"PQ{subvectors}np"  # np: skip reordering, which takes minutes
    index = faiss.index_factory(dimension, f"IVF{lists},{codes}", faiss.METRIC_INNER_PRODUCT)
    sample = np.random.default_rng(0).choice(count, min(count, max(TRAINING_ROWS * lists, 10_000)), replace=False)
    index.train(embedding_ND[np.sort(sample)].astype(np.float32))
    for start in range(0, count, BLOCK_ROWS):
        index.add(embedding_ND[start : start + BLOCK_ROWS].astype(np.float32))
    return index


def save(index: Any, file: Path) -> None:
    """Write the index to a file. Raises InputError if the disk is full or the folder is missing."""
    try:
        faiss.write_index(index, str(file))
    except RuntimeError as error:
        raise InputError(f"Cannot write the approximate index to {file}; free some disk space.") from error


def load(file: Path) -> Any:
    """Open an index with its lists memory-mapped."""
    return faiss.read_index(str(file), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)


def rank_approximately(
    index: Any, query_BD: np.ndarray, embedding_ND: Vectors, top: int, probes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return (row_BT, score_BT) as `rank` does, but only of the candidates in the `probes` lists nearest to a query.

    Scores are exact and ties are sorted by row. A query whose lists have fewer than `top` rows is ranked exactly.
    """
    top = min(top, len(embedding_ND))
    parameters = faiss.SearchParametersIVF(nprobe=probes)  # type: ignore[call-arg]  # its stub lacks it
    _, proposed_BC = index.search(query_BD, min(CANDIDATES * top, len(embedding_ND)), params=parameters)
    row_BT, score_BT = np.empty((len(query_BD), top), np.int64), np.empty((len(query_BD), top), np.float32)
    for each, proposed_C in enumerate(proposed_BC):
        row_C = np.sort(proposed_C[proposed_C >= 0])  # −1 pads the end
        if len(row_C) < top:
            row_BT[each], score_BT[each] = (exact_1T[0] for exact_1T in rank(query_BD[each, None], embedding_ND, top))
        else:
            best_1T, scores_1T = rank(query_BD[each, None], embedding_ND[row_C], top)
            row_BT[each], score_BT[each] = row_C[best_1T[0]], scores_1T[0]
    return row_BT, score_BT


def measure_recall(index: Any, embedding_ND: np.ndarray) -> dict[int, dict[int, float]]:
    """Measure recall against exact search on a seeded sample of images: recall[number of results][probes].

    A result counts if it is as near as the last exact one. The number of probes doubles until recall reaches
    TARGET_RECALL or exact search would be as fast.
    """
    sample = np.sort(np.random.default_rng(1).permutation(len(embedding_ND))[:QUERIES])
    query_BD = embedding_ND[sample].astype(np.float32)
    depths = [min(depth, len(embedding_ND) - 1) for depth in DEPTHS]
    exact_BT = rank(query_BD, embedding_ND, max(depths) + 1)[1]  # the first is the image itself or a copy
    recall: dict[int, dict[int, float]] = {depth: {} for depth in DEPTHS}
    probes = 1
    while probes <= index.nlist // 4 and min(found.get(probes // 2, 0) for found in recall.values()) < TARGET_RECALL:
        for depth, count in zip(DEPTHS, depths, strict=True):
            found_BT = rank_approximately(index, query_BD, embedding_ND, count + 1, probes)[1]
            near_BT = found_BT[:, 1:] >= exact_BT[:, count, None] - ROUNDING
            recall[depth][probes] = float(near_BT.mean())
        probes *= 2
    return recall
