"""The nearest images where there are too many to look at all: a query looks into some of many lists (faiss).

Up to a few million vectors the lists hold them in float16; beyond, they hold product-quantised codes. Either way the
lists only propose: what they propose is scored exactly from the vectors of the index.
"""

from pathlib import Path
from typing import Any

import faiss
import numpy as np

from tasks.errors import InputError
from tasks.search.ranking import rank

FLAT_ROWS = 4_000_000  # past which lists hold codes
BLOCK_ROWS = 65_536
TRAINING_ROWS = 40  # for each list
CANDIDATES = 16  # for each result
DEPTHS = (10, 100)  # lengths of result lists that recall is measured for
QUERIES = 100
ENOUGH = 0.999
ROUNDING = 1e-6  # of a score, which other blocks may sum in another order

Recall = dict[int, dict[int, float]]
"""Share of the true nearest that is found, by the length of the result list and the number of lists looked into."""


def build(embedding_ND: np.ndarray) -> Any:
    """A faiss index of all rows, trained on a seeded sample of them."""
    count, dimension = embedding_ND.shape
    lists = max(1, min(int(2 * count**0.5), count // TRAINING_ROWS))
    subvectors = max(each for each in range(1, max(2, dimension // 4 + 1)) if dimension % each == 0)
    held = (
        "SQfp16" if count <= FLAT_ROWS else f"PQ{subvectors}np"
    )  # np: no reordering of codes, which takes minutes and serves nothing here
    index = faiss.index_factory(dimension, f"IVF{lists},{held}", faiss.METRIC_INNER_PRODUCT)
    sample = np.random.default_rng(0).choice(count, min(count, max(TRAINING_ROWS * lists, 10_000)), replace=False)
    index.train(embedding_ND[np.sort(sample)].astype(np.float32))
    for start in range(0, count, BLOCK_ROWS):
        index.add(embedding_ND[start : start + BLOCK_ROWS].astype(np.float32))
    return index


def save(index: Any, file: Path) -> None:
    """Raises InputError where it does not fit on the disk."""
    try:
        faiss.write_index(index, str(file))
    except RuntimeError as error:
        raise InputError(f"The approximate index cannot be written to {file}; make room on its disk.") from error


def load(file: Path) -> Any:
    """An index whose lists stay on the disk, memory-mapped."""
    return faiss.read_index(str(file), faiss.IO_FLAG_MMAP | faiss.IO_FLAG_READ_ONLY)


def rank_approximately(
    index: Any, query_BD: np.ndarray, embedding_ND: np.ndarray, top: int, probes: int
) -> tuple[np.ndarray, np.ndarray]:
    """(row_BT, score_BT) as `rank` gives them, of what the `probes` lists nearest to a query propose.

    Scores are exact and equal ones come by row. A query whose lists hold less than `top` rows is ranked exactly.
    """
    top = min(top, len(embedding_ND))
    parameters = faiss.SearchParametersIVF(nprobe=probes)  # type: ignore[call-arg]  # its stub lacks it
    _, proposed_BC = index.search(query_BD, min(CANDIDATES * top, len(embedding_ND)), params=parameters)
    row_BT, score_BT = np.empty((len(query_BD), top), np.int64), np.empty((len(query_BD), top), np.float32)
    for each, proposed_C in enumerate(proposed_BC):
        row_C = np.sort(proposed_C[proposed_C >= 0])  # −1 where there are no more
        if len(row_C) < top:
            row_BT[each], score_BT[each] = (of_all[0] for of_all in rank(query_BD[each, None], embedding_ND, top))
        else:
            best_1T, scores_1T = rank(query_BD[each, None], embedding_ND[row_C], top)
            row_BT[each], score_BT[each] = row_C[best_1T[0]], scores_1T[0]
    return row_BT, score_BT


def measure(index: Any, embedding_ND: np.ndarray) -> Recall:
    """Recall against exact search, for a seeded sample of images that look for others, by ever more lists.

    A result counts if it is as near as the last of the exact ones. It ends where nearly all is found, or where so many
    lists are looked into that exact search is as quick.
    """
    sample = np.sort(np.random.default_rng(1).permutation(len(embedding_ND))[:QUERIES])
    query_BD = embedding_ND[sample].astype(np.float32)
    depths = [min(depth, len(embedding_ND) - 1) for depth in DEPTHS]
    exact_BT = rank(query_BD, embedding_ND, max(depths) + 1)[1]  # the first is the image itself, or a copy of it
    recall: Recall = {depth: {} for depth in DEPTHS}
    probes = 1
    while probes <= index.nlist // 4 and min(found.get(probes // 2, 0) for found in recall.values()) < ENOUGH:
        for depth, count in zip(DEPTHS, depths, strict=True):
            found_BT = rank_approximately(index, query_BD, embedding_ND, count + 1, probes)[1]
            near_BT = found_BT[:, 1:] >= exact_BT[:, count, None] - ROUNDING
            recall[depth][probes] = float(near_BT.mean())
        probes *= 2
    return recall
