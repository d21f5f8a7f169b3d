"""Check a GPU's results against the CPU's, then measure embedding and fine-tuning on both.

    python benchmarks/gpu.py [FOLDER]

Each check compares the largest difference with a tolerance; the exit code is 1 if one is exceeded. Without a folder,
scenes are drawn.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
import torch
import torch.nn.functional as F
from embedding import scene_model
from mining import drawn_pool
from rounds import seconds
from sample_images import read, sample_images
from torch import Tensor

from tasks.embedding.embed import embed_images
from tasks.images.crop import crop_side, random_crop
from tasks.images.loader import Refusal, load_batches
from tasks.images.preprocess import normalise
from tasks.model.architectures import create_backbone, preprocessing_of
from tasks.model.config import BackboneConfig, PoolingConfig, Precision
from tasks.model.device import choose_device
from tasks.model.head import Projection
from tasks.training.config import FineTuningConfig
from tasks.training.finetuning import CaptionNetwork, Crops, fine_tune
from tasks.training.mining import mine
from tasks.training.ridge import kernel_ridge

CPU = torch.device("cpu")
BLOCKS = PoolingConfig(kind="blocks")
TOLERANCE = {  # TF32 keeps 10 bits of a product's factors, bfloat16 7
    "embedding, float32": 1e-3,
    "embedding, bfloat16": 2e-2,
    "embedding, bfloat16 from float32": 2e-2,
    "kernel ridge": 1e-3,
    "mined triplets": 1e-3,
    "loss of fine-tuning": 2e-2,
}
TOPICS = 16


def embedded(paths: list[str], device: torch.device, args: argparse.Namespace, precision: Precision) -> Tensor:
    """Return embedding_ND of the files, on the CPU."""
    torch.manual_seed(0)
    model = scene_model(args.size, BLOCKS, precision).to(device).eval()
    parts = embed_images(model, paths, read, device=device, batch_size=args.batch, workers=args.workers)
    by_row = {row: vector_D for rows, part_BD in parts for row, vector_D in zip(rows, part_BD, strict=True)}
    return torch.stack([torch.as_tensor(by_row[row]) for row in range(len(paths))]).float()


def cosine_distance(one_ND: Tensor, other_ND: Tensor) -> float:
    """Return the largest 1 − cosine of two rows."""
    return float((1 - F.cosine_similarity(one_ND, other_ND)).max())


def predictions(device: torch.device) -> Tensor:
    """Return what a kernel ridge regression, fitted on a device, predicts for its training images."""
    generator = torch.Generator().manual_seed(0)
    value_NC = F.normalize(torch.rand(1000, 256, generator=generator), dim=1)
    target_NT = torch.randn(1000, TOPICS, generator=generator).numpy()
    ridge = kernel_ridge(
        value_NC, target_NT, block_channels=(128, 128), bandwidth=0.7, landmarks=400, seed=0, device=device
    )
    ((penalty, head),) = ridge.heads([0.1])
    return ridge.predictions(penalty, head)[0].float()


def share_of_other_triplets(device: torch.device) -> float:
    """Return the share of the hardest images that are mined on the CPU but not on the device."""
    pool, relevance = drawn_pool(2000, 100)
    embedding_PD = F.normalize(torch.randn(2000, 512, generator=torch.Generator().manual_seed(0)), dim=1)
    one, other = (
        mine(pool, *[embedding_PD.to(each)] * 2, relevance, hardest=50, margin=0.1).hardest_LH for each in (CPU, device)
    )
    return float(np.mean([len(set(a) - set(b)) / len(a) for a, b in zip(one, other, strict=True)]))


def loss_of_epoch(paths: list[str], device: torch.device, args: argparse.Namespace) -> float:
    """Return the loss of an epoch of fine-tuning from a random linear map."""
    torch.manual_seed(0)
    config = BackboneConfig(size=args.size)
    preprocessing = preprocessing_of(config)
    channels = create_backbone(config, pretrained=False).eval()(torch.zeros(1, 3, args.size, args.size)).shape[1]
    start = Projection(torch.zeros(channels), torch.randn(channels, TOPICS) / channels**0.5)
    network = CaptionNetwork(create_backbone(config), start, dropout=0).to(device)
    losses: list[float] = []
    fine_tune(
        network,
        Crops(
            lambda row, random: random_crop(read(paths[row]), preprocessing, crop_side(preprocessing), 0.5, random),
            len(paths),
            args.batch,
            args.workers,
            seed=0,
        ),
        torch.randn(len(paths), TOPICS, generator=torch.Generator().manual_seed(0)),
        preprocessing,
        FineTuningConfig(epochs=1, batch=args.batch),
        device=device,
        validate=lambda: 0.0,
        log=lambda metrics, _epoch: losses.append(metrics["loss"]),
    )
    return losses[0]


def differences(paths: list[str], device: torch.device, args: argparse.Namespace) -> Iterator[tuple[str, float]]:
    """Yield each check and the largest difference between the device and the CPU."""
    on_cpu = embedded(paths, CPU, args, "float32")
    rounded = embedded(paths, device, args, "bfloat16")
    yield "embedding, float32", cosine_distance(embedded(paths, device, args, "float32"), on_cpu)
    yield "embedding, bfloat16", cosine_distance(rounded, embedded(paths, CPU, args, "bfloat16"))
    yield "embedding, bfloat16 from float32", cosine_distance(rounded, on_cpu)
    one_NT, other_NT = predictions(device), predictions(CPU)
    yield "kernel ridge", float((one_NT - other_NT).abs().max() / other_NT.abs().max())
    yield "mined triplets", share_of_other_triplets(device)
    loss = loss_of_epoch(paths, CPU, args)
    yield "loss of fine-tuning", abs(loss_of_epoch(paths, device, args) / loss - 1)


def check(paths: list[str], device: torch.device, args: argparse.Namespace) -> bool:
    """Print each check with its tolerance; return whether all hold."""
    passed = True
    print(f"{device} compared with the CPU, {len(paths)} images of {args.size} pixels")
    for name, difference in differences(paths, device, args):
        passed &= difference <= TOLERANCE[name]
        verdict = "ok" if difference <= TOLERANCE[name] else "EXCEEDED"
        print(f"  {name:34} {difference:9.1e}   at most {TOLERANCE[name]:.0e}   {verdict}", flush=True)
    return passed


def measure(paths: list[str], device: torch.device, args: argparse.Namespace) -> None:
    """Print images per second of embedding and of the bare network, for each precision."""
    for precision in get_args(Precision):
        taken = seconds(_variants(paths, device, args, precision), args.rounds)
        print(f"{precision}, batches of {args.batch}, {args.workers} workers")
        for name, seconds_R in taken.items():
            print(f"  {name:20} {len(paths) / np.median(seconds_R):9.1f} images/s")


def _variants(
    paths: list[str], device: torch.device, args: argparse.Namespace, precision: Precision
) -> Mapping[str, Callable[[], object]]:
    model = scene_model(args.size, BLOCKS, precision).to(device).eval()
    (preprocessing,) = model.config.preprocessings
    loading = {"batch_size": args.batch, "workers": args.workers}
    batches = [
        batch.inputs[0].to(device)
        for batch in load_batches(paths, read, [preprocessing], **loading)
        if not isinstance(batch, Refusal)
    ]

    def bare() -> None:
        with torch.inference_mode():
            for pixels_BHWC in batches:
                outputs = model.backbones[0].outputs(normalise(pixels_BHWC, preprocessing))
            outputs.map_BCHW.sum().item()  # waits for the GPU

    def embedding() -> None:
        for _ in embed_images(model, paths, read, device=device, **loading):
            pass

    tuning = partial(loss_of_epoch, paths, device, args)
    return {"bare network": bare, "embedding of files": embedding, "fine-tuning": tuning}


def main() -> None:
    """Read the arguments, find or draw images, check and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--size", type=int, default=288)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    device = choose_device(args.device)
    with sample_images(args.folder, args.images) as paths:
        passed = check(paths, device, args)
        measure(paths, device, args)
    if not passed:
        sys.exit(1)


if __name__ == "__main__":
    main()
