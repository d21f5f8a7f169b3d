"""Measure mining hard triplets of a pool against the matrix product that it needs at least.

    python benchmarks/mining.py [--pool 5000] [--dimension 2048] [--hardest 100]

Embeddings are random; every query has 9 relevant images in the pool (METHOD.md 5).
"""

import argparse
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from rounds import seconds
from torch import Tensor

from tasks.training.mining import Pool, Relevance, mine

K, RELEVANT, MARGIN = 32, 9, 0.1


def drawn_pool(images: int, queries: int, seed: int = 0) -> tuple[Pool, Relevance]:
    """Return a pool of all images: random queries, each with random relevant images."""
    random = np.random.default_rng(seed)
    index_NK = random.integers(images, size=(images, K))
    relevance = Relevance(index_NK, np.arange(images))
    query_Q = random.permutation(images)[:queries]
    return Pool(query_Q, index_NK[query_Q, :RELEVANT], np.arange(images)), relevance


def by_pairs(pool: Pool, embedding_PD: Tensor, relevance: Relevance, hardest: int) -> None:
    """Run a top-k for every pair of a query and a relevant image, following the definition literally."""
    score_QP = embedding_PD[torch.from_numpy(pool.query_Q)] @ embedding_PD.T
    for query, score_P in enumerate(score_QP):
        for relevant in pool.relevant_QR[query]:
            loss_P = 0.5 * (MARGIN - score_P[relevant] + score_P).clamp(min=0)
            loss_P[torch.from_numpy(relevance.index_NK[pool.query_Q[query]])] = 0
            loss_P.topk(hardest)


def main() -> None:
    """Read the arguments, draw a pool and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pool", type=int, default=5000)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--dimension", type=int, default=2048)
    parser.add_argument("--hardest", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    pool, relevance = drawn_pool(args.pool, args.queries)
    generator = torch.Generator().manual_seed(0)
    embedding_PD = F.normalize(torch.randn(args.pool, args.dimension, generator=generator), dim=1)
    query_QD = embedding_PD[torch.from_numpy(pool.query_Q)]
    taken = seconds(
        {
            "mine": partial(mine, pool, embedding_PD, embedding_PD, relevance, args.hardest, MARGIN),
            "matrix product": lambda: query_QD @ embedding_PD.T,
            "a top-k per pair": partial(by_pairs, pool, embedding_PD, relevance, args.hardest),
        },
        args.rounds,
    )
    ratio_R = taken["mine"] / taken["matrix product"]
    print(f"pool {args.pool} x {args.dimension}, {args.queries} queries x {RELEVANT}, H = {args.hardest}")
    for name, seconds_R in taken.items():
        print(f"  {name:16} {1000 * np.median(seconds_R):8.1f} ms")
    print(f"  mine / matrix product {np.median(ratio_R):.2f} ({ratio_R.min():.2f}-{ratio_R.max():.2f})")


if __name__ == "__main__":
    main()
