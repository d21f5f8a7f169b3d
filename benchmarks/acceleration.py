"""Measure images per second of a network on the CPU: plain torch, torch with folded batch norms, OpenVINO.

    python benchmarks/acceleration.py [BACKBONE] [--compile]

Weights are random and images are in memory; a round is one batch. Speed is also given relative to plain and to folded
torch. The ratios grow when other programs keep the cores busy.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from rounds import seconds
from torch import Tensor

from tasks.model.architectures import create_backbone
from tasks.model.backbone import Outputs
from tasks.model.config import BACKBONES, BackboneConfig
from tasks.model.device import choose_device
from tasks.model.inference import fold_batch_norm, optimise_for_inference

PLAIN, FOLDED = "torch, plain", "torch, folded"


def measure(args: argparse.Namespace) -> None:
    """Print images per second of each variant, and its speed relative to torch."""
    device = choose_device("cpu")
    network = create_backbone(BackboneConfig(name=args.backbone), pretrained=False)
    folded = fold_batch_norm(network)
    started = time.perf_counter()
    compiled = optimise_for_inference(network, device)
    print(f"preparing OpenVINO took {time.perf_counter() - started:.1f} s")
    images_BCHW = torch.randn(args.batch, 3, args.size, args.size)
    last_BCHW = images_BCHW.to(memory_format=torch.channels_last)

    def run(outputs: Callable[[Tensor], Outputs], images_BCHW: Tensor) -> Callable[[], Outputs]:
        return torch.inference_mode()(lambda: outputs(images_BCHW))

    variants = {
        PLAIN: run(network.outputs, images_BCHW),
        FOLDED: run(folded.outputs, last_BCHW),
        "OpenVINO": run(compiled.outputs, last_BCHW),
    }
    if args.compile:
        variants["torch.compile"] = run(torch.compile(folded.outputs), last_BCHW)
    taken = seconds(variants, args.rounds)
    print(f"{args.backbone}, batches of {args.batch} at {args.size} pixels, {torch.get_num_threads()} threads")
    for name, seconds_R in taken.items():
        print(f"  {name:14} {args.batch / np.median(seconds_R):8.1f} images/s")
        for other in (PLAIN, FOLDED):
            ratio_R = taken[other] / seconds_R
            print(f"    times {other:14} {np.median(ratio_R):6.2f}   ({ratio_R.min():.2f} to {ratio_R.max():.2f})")


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("backbone", nargs="?", choices=BACKBONES, default=BackboneConfig().name)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--compile", action="store_true", help="measure torch.compile too (needs a C++ compiler)")
    measure(parser.parse_args())


if __name__ == "__main__":
    main()
