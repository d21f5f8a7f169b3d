"""Measure embedding of image files against the bare forward pass of the same network over pixels in memory.

    python benchmarks/embedding.py [FOLDER]

Embedding reads, decodes, resizes, normalises, pools and projects. Without a folder, scenes are drawn.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from rounds import seconds
from sample_images import read, sample_images

from tasks.embedding.embed import embed_images
from tasks.images.loader import load_batches
from tasks.images.preprocess import normalise
from tasks.model.architectures import block_channels, create_backbone, preprocessing_of
from tasks.model.config import BackboneConfig, ModelConfig, NetworkConfig, PoolingConfig, Precision
from tasks.model.device import choose_device
from tasks.model.head import Projection
from tasks.model.scene_model import SceneModel

DIMENSION = 512


def scene_model(size: int, pooling: PoolingConfig, precision: Precision = "float32") -> SceneModel:
    """Return EfficientNet-Lite0 with a projection of the default size."""
    config = BackboneConfig(size=size, precision=precision)
    channels = sum(*block_channels([config], pooling))
    recipe = ModelConfig(
        method="benchmark",
        networks=(NetworkConfig(backbone=config, preprocessing=preprocessing_of(config)),),
        pooling=pooling,
        channels=channels,
        dimension=DIMENSION,
    )
    head = Projection(torch.zeros(channels), torch.randn(channels, DIMENSION) / channels**0.5)
    return SceneModel(recipe, [create_backbone(config)], head)


def measure(paths: list[str], args: argparse.Namespace) -> None:
    """Print images per second of both, and their ratio."""
    device = choose_device(args.device)
    model = scene_model(args.size, PoolingConfig(kind="gap")).to(device).eval()
    (preprocessing,) = model.config.preprocessings
    loading = {"batch_size": args.batch, "workers": args.workers}
    batches = load_batches(paths, read, [preprocessing], **loading)
    ready = [normalise(batch.inputs[0].to(device), preprocessing) for batch in batches]

    def bare() -> None:
        with torch.inference_mode():
            for images_BCHW in ready:
                feature_map_BCHW = model.backbones[0](images_BCHW)
        feature_map_BCHW.sum().item()  # waits for the GPU

    def embedding() -> None:
        for _ in embed_images(model, paths, read, device=device, **loading):
            pass

    taken = seconds({"bare forward pass": bare, "embedding of files": embedding}, args.rounds)
    print(f"{len(paths)} images, batches of {args.batch}, {torch.get_num_threads()} threads, {device}")
    for name, seconds_R in taken.items():
        print(f"  {name:20} {len(paths) / np.median(seconds_R):8.1f} images/s")
    ratio_R = taken["bare forward pass"] / taken["embedding of files"]
    print(f"  {'ratio':20} {np.median(ratio_R):8.3f}   ({ratio_R.min():.3f} to {ratio_R.max():.3f})")


def main() -> None:
    """Read the arguments, find or draw images, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--device", default="auto")
    args = parser.parse_args()
    with sample_images(args.folder, args.images) as paths:
        measure(paths, args)


if __name__ == "__main__":
    main()
