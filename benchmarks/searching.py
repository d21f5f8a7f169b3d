"""Measure exact search of stored float16 vectors against faiss's flat index of float32 vectors.

    python benchmarks/searching.py [--threads 2] [--rounds 5] [--sizes 200000x512 100000x2048]

Both use the same number of threads and take turns. Vectors are random, in a memory-mapped file like an index's. Both
should return the same rows; the last column shows how many agree.
"""

import argparse
import os
import tempfile
from functools import partial
from pathlib import Path

import faiss
import numpy as np
import torch
from rounds import seconds

from tasks.search.ranking import rank

SIZES = ("200000x512", "100000x2048")
QUERIES = (1, 1000)
TOP = 10
STEP = 10_000


def drawn(random: np.random.Generator, rows: int, dimension: int) -> np.ndarray:
    """Return random vectors of unit length."""
    values_ND = random.standard_normal((rows, dimension), np.float32)
    values_ND /= np.linalg.norm(values_ND, axis=1, keepdims=True)
    return values_ND


def stored(file: Path, rows: int, dimension: int, random: np.random.Generator) -> np.ndarray:
    """Write and map embedding_ND, float16; copy-on-write, as torch warns of read-only arrays."""
    with file.open("wb") as out:
        for start in range(0, rows, STEP):
            drawn(random, min(STEP, rows - start), dimension).astype(np.float16).tofile(out)
    return np.memmap(file, np.float16, "c", shape=(rows, dimension))


def flat_index(embedding_ND: np.ndarray) -> faiss.IndexFlatIP:
    """Return a faiss index of the same vectors."""
    index = faiss.IndexFlatIP(embedding_ND.shape[1])
    for start in range(0, len(embedding_ND), STEP):
        index.add(embedding_ND[start : start + STEP].astype(np.float32))
    return index


def spread(values_R: np.ndarray) -> str:
    """Format median and range."""
    return f"{np.median(values_R):8.3f} ({values_R.min():.3f}–{values_R.max():.3f})"


def measure(embedding_ND: np.ndarray, random: np.random.Generator, rounds: int) -> None:
    """Print a row of the table for each number of queries."""
    index = flat_index(embedding_ND)
    for count in QUERIES:
        query_BD = drawn(random, count, embedding_ND.shape[1])
        variants = {"rank": partial(rank, query_BD, embedding_ND, TOP), "faiss": partial(index.search, query_BD, TOP)}
        taken = seconds(variants, rounds if count > 1 else 5 * rounds)
        same = np.mean(rank(query_BD, embedding_ND, TOP)[0] == index.search(query_BD, TOP)[1])
        rows, dimension = embedding_ND.shape
        columns = [spread(taken["rank"]), spread(taken["faiss"]), spread(taken["faiss"] / taken["rank"])]
        print(f"{rows:>7} × {dimension:<5} {count:>7}", *(f"{column:>28}" for column in columns), f"{same:10.2%}")


def main() -> None:
    """Read the arguments, draw vectors and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", nargs="+", default=SIZES, metavar="ROWSxDIMENSION")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    faiss.omp_set_num_threads(args.threads)
    print(f"{args.threads} threads, load {os.getloadavg()[0]:.1f}, top {TOP}; seconds: median (range)")
    heads = [f"{head:>28}" for head in ("rank", "faiss flat", "faiss / rank")]
    print(f"{'vectors':>15} {'queries':>7}", *heads, f"{'same rows':>10}")
    random = np.random.default_rng(0)
    for rows, dimension in (map(int, size.split("x")) for size in args.sizes):
        with tempfile.TemporaryDirectory() as folder:
            measure(stored(Path(folder, "vectors"), rows, dimension, random), random, args.rounds)


if __name__ == "__main__":
    main()
