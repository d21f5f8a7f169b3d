"""Measure refreshing an index against building it.

    python benchmarks/updating.py [--images 20000] [--changed 200] [--network]

Images are random, 160 x 120 pixels. Without --network a stub replaces the network, so that only reading, comparing,
writing and checking are timed; the network's own time is measured on 64 images and added in the last column.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from scenekin.cli import LIBRARY_DEFAULTS

os.environ |= LIBRARY_DEFAULTS

from flows.config import Config
from flows.index import index as index_collection
from flows.results import IndexResult
from flows.train import train
from tasks.demo.collection import write_collection
from tasks.embedding import stage as embedding_stage

SIZE = (160, 120)
SETTLED = 2.5  # seconds after which a written file counts as unchanging


def write_images(folder: Path, numbers: Sequence[int], seed: int) -> None:
    """Write images of random colour patches; no two are alike."""
    for number in numbers:
        random = np.random.default_rng((seed, number))
        colour = random.integers(256, size=(12, 16, 3), dtype=np.uint8)
        Image.fromarray(colour).resize(SIZE).save(folder / f"{number:06}.jpg", quality=80)


def stub(model: Any, paths: Sequence[str], *_: Any, batch_size: int, **__: Any) -> Iterator[tuple[Any, torch.Tensor]]:
    """Yield random vectors in place of embeddings."""
    generator = torch.Generator().manual_seed(len(paths))
    for start in range(0, len(paths), batch_size):
        rows = tuple(range(start, min(start + batch_size, len(paths))))
        drawn_BD = torch.randn(len(rows), model.config.dimension, generator=generator)
        yield rows, torch.nn.functional.normalize(drawn_BD)


def index(collection: Path, workspace: Path) -> tuple[float, IndexResult]:
    """Seconds and result of `scenekin index` without its imports."""
    started = time.perf_counter()
    result = index_collection(str(collection), workspace=str(workspace))
    return time.perf_counter() - started, result


def main() -> None:
    """Read the arguments, train on a few drawn scenes, generate images and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--changed", type=int, default=200)
    parser.add_argument("--network", action="store_true", help="use the real network")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        workspace, scenes, collection, few = (Path(temporary, name) for name in ("space", "scenes", "images", "few"))
        write_collection(scenes, 60)
        train(str(scenes), Config(candidates=("regression",)), workspace=str(workspace))
        few.mkdir()
        write_images(few, range(64), seed=100)
        started = time.perf_counter()
        index_collection(str(few), "few", workspace=str(workspace))
        network = 0.0 if args.network else (time.perf_counter() - started) / 64
        collection.mkdir()
        write_images(collection, range(args.images), seed=0)
        if not args.network:
            embedding_stage.embed_images = stub
        print(f"{args.images} images; the network takes {1000 * network:.0f} ms per image")
        print(f"  {'':34}{'seconds':>9}{'of a build':>13}{'with network':>14}  slowest steps")
        whole: list[float] = []
        for label, changed in (
            ("build", args.images),
            (f"{args.changed} changed", args.changed),
            ("1 changed", 1),
            ("nothing changed", 0),
        ):
            if whole:
                write_images(collection, range(changed), seed=1 + len(whole))
            time.sleep(SETTLED)
            taken, result = index(collection, workspace)
            whole.append(taken + changed * network)
            steps = sorted(result.stages, key=lambda stage: -stage.seconds)[:2]
            slowest = ", ".join(f"{step.name} {step.seconds:.1f} s" for step in steps)
            share = f"{taken / (whole[0] - args.images * network):.1%}"
            print(f"  {label:34}{taken:9.1f}{share:>13}{whole[-1] / whole[0]:>14.1%}  {slowest}", flush=True)


if __name__ == "__main__":
    main()
