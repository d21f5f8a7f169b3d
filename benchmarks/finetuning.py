"""Measure what fine-tuning the whole network costs beyond passing the same images through it.

    python benchmarks/finetuning.py [FOLDER]

Compare a refresh (mining and its updates, reading files) with a bare forward pass over the mined pool and bare forward
and backward passes over the images of every update, from pixels in memory. Without a folder, scenes are drawn.
"""

import argparse
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from embedding import scene_model
from rounds import seconds
from sample_images import read, sample_images
from torch import Tensor

from tasks.images.loader import load_inputs
from tasks.images.preprocess import normalise
from tasks.model.config import PoolingConfig
from tasks.model.device import choose_device
from tasks.training.config import TripletConfig
from tasks.training.embedders import through_network
from tasks.training.losses import TERMS
from tasks.training.mining import Relevance
from tasks.training.triplet_loop import Learner, train_triplets


def measure(paths: list[str], args: argparse.Namespace) -> None:
    """Print the seconds of a refresh and of its bare passes, and the overhead."""
    device = choose_device(args.device)
    model = scene_model(args.size, PoolingConfig(kind="rmac_mean")).to(device).train()
    loaded = {path: load_inputs(path, read, model.config.preprocessings)[0] for path in paths}
    shape = Counter(pixels_HWC.shape for pixels_HWC in loaded.values()).most_common(1)[0][0]
    paths = [path for path in paths if loaded[path].shape == shape]  # so that a bare pass is a single batch
    embed = through_network(model, paths, read, device=device, workers=args.workers, chunk=len(paths))
    images = np.arange(len(paths))
    relevance = Relevance(np.stack([(images + step) % len(paths) for step in range(1, 9)], axis=1), images)
    config = TripletConfig(
        queries=len(paths), batch=args.batch, updates=args.updates, refreshes=1, margin=1.0, backbone="finetuned"
    )
    pixels_NHWC = torch.stack([loaded[path] for path in paths])
    ready_NCHW = normalise(pixels_NHWC, model.config.preprocessings[0]).to(device)
    passes: list[tuple[np.ndarray, bool]] = []

    def recorded(rows: np.ndarray) -> Tensor:
        passes.append((rows, torch.is_grad_enabled()))
        return embed(rows)

    def refresh() -> None:
        passes.clear()
        learner = Learner(model, TERMS["v_v"], {"image": recorded})
        train_triplets(learner, relevance, config, seed=0, validate=lambda: 0.0)

    def bare() -> None:
        for rows, learns in passes:
            with torch.set_grad_enabled(learns):
                score = model.backbones[0](ready_NCHW[rows]).mean()
            if learns:
                score.backward()
                model.zero_grad()
            score.item()  # waits for the GPU

    taken = seconds({"refresh": refresh, "bare passes": bare}, args.rounds)
    mined, learned = (sum(len(rows) for rows, learns in passes if learns == kind) for kind in (False, True))
    print(f"{mined} images mined, {learned} in {args.updates} updates, {torch.get_num_threads()} threads, {device}")
    for name, seconds_R in taken.items():
        print(f"  {name:12} {np.median(seconds_R):8.2f} s")
    overhead_R = 100 * (taken["refresh"] / taken["bare passes"] - 1)
    print(f"  {'overhead':12} {np.median(overhead_R):8.1f} %   ({overhead_R.min():.1f} to {overhead_R.max():.1f})")


def main() -> None:
    """Read the arguments, find or draw images, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--images", type=int, default=128, help="number of images mined per refresh")
    parser.add_argument("--batch", type=int, default=16, help="triplets per update")
    parser.add_argument("--updates", type=int, default=4)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="auto")
    args = parser.parse_args()
    with sample_images(args.folder, args.images) as paths:
        measure(paths, args)


if __name__ == "__main__":
    main()
