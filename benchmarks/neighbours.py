"""Measure exact nearest neighbours by caption similarity against other ways of computing the same products.

    python benchmarks/neighbours.py [--images 6000]

Vectors are random: stems by Zipf's law, about 25 per image, as in captions of photographs.
"""

import argparse
from functools import partial

import numpy as np
from rounds import seconds
from scipy.sparse import csr_array, csr_matrix
from sparse_dot_topn import sp_matmul_topn

from tasks.surrogate.neighbours import BLOCK_ROWS, nearest_neighbours

K = 32


def drawn_tfidf(images: int, stems: int, seed: int = 0) -> csr_array:
    """Return tfidf_NV with rows of unit length."""
    random = np.random.default_rng(seed)
    frequency_V = 1 / np.arange(1, stems + 1)
    drawn_NT = random.choice(stems, size=(images, 40), p=frequency_V / frequency_V.sum())
    count_NV = csr_array((np.ones(drawn_NT.size), drawn_NT.ravel(), np.arange(images + 1) * 40), (images, stems))
    count_NV.sum_duplicates()
    document_V = np.bincount(count_NV.indices, minlength=stems)
    count_NV.data *= np.log(images / document_V[count_NV.indices])
    length_N = np.sqrt(count_NV.multiply(count_NV).sum(axis=1))
    return csr_array(count_NV.multiply(1 / length_N[:, None]))


def by_blocks_of_dense(tfidf_NV: csr_array, sparse_product: bool) -> None:
    """Select the best K of each row of the full product, one block of rows at a time."""
    dense_VN = None if sparse_product else tfidf_NV.T.toarray()
    for start in range(0, tfidf_NV.shape[0], BLOCK_ROWS):
        block_BV = tfidf_NV[start : start + BLOCK_ROWS]
        score_BN = (block_BV @ tfidf_NV.T).toarray() if dense_VN is None else block_BV.toarray() @ dense_VN
        np.argpartition(score_BN, -K - 1, axis=1)


def main() -> None:
    """Read the arguments, draw vectors and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=6000)
    parser.add_argument("--stems", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    tfidf_NV = drawn_tfidf(args.images, args.stems)
    matrix_NV, transposed_VN = csr_matrix(tfidf_NV), csr_matrix(tfidf_NV.T)
    taken = seconds(
        {
            "nearest_neighbours": partial(nearest_neighbours, tfidf_NV, K),
            "sparse_dot_topn alone": partial(sp_matmul_topn, matrix_NV, transposed_VN, top_n=K + 1),
            "sparse product, argpartition": partial(by_blocks_of_dense, tfidf_NV, sparse_product=True),
            "dense product, argpartition": partial(by_blocks_of_dense, tfidf_NV, sparse_product=False),
        },
        args.rounds,
    )
    print(f"{args.images} images, {args.stems} stems, {tfidf_NV.nnz / args.images:.0f} per row, k = {K}")
    for name, seconds_R in taken.items():
        print(f"  {name:30} {np.median(seconds_R):8.2f} s")


if __name__ == "__main__":
    main()
