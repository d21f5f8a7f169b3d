"""Measure time and peak memory of reading Visual Genome as a stream against `json.load` of the same file.

    python benchmarks/visual_genome.py [--images 108077]

The file is random: 50 regions per image with phrases of five words and the dataset's own keys. `check` is everything
that `scenekin check` does: reading, decoding a tiny picture for each image, and making the tables.
"""

import argparse
import io
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image

from tasks.collection.arrow import caption_table, image_table, problem_table
from tasks.collection.check import summary
from tasks.collection.config import CollectionConfig
from tasks.collection.formats import READERS
from tasks.collection.gather import gather
from tasks.collection.records import Files
from tasks.progress import progress

IMAGE_DATA, REGIONS = "image_data.json", "region_descriptions.json"
WORDS = 6000


def write_collection(folder: Path, images: int, regions: int) -> None:
    """Write both lists, entry by entry."""
    draw = random.Random(0)
    words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(WORDS)]
    with (folder / IMAGE_DATA).open("w") as listing, (folder / REGIONS).open("w") as described:
        for image_id in range(images):
            separator = ", " if image_id else "["
            url = f"https://cs.stanford.edu/people/rak248/{folder_of(image_id)}/{image_id}.jpg"
            entry = {"width": 800, "url": url, "height": 600, "image_id": image_id, "coco_id": None, "flickr_id": None}
            listing.write(separator + json.dumps(entry))
            boxes = [
                {
                    "region_id": image_id * regions + number,
                    "width": draw.randrange(800),
                    "height": draw.randrange(600),
                    "image_id": image_id,
                    "phrase": " ".join(draw.choices(words, k=5)),
                    "y": draw.randrange(600),
                    "x": draw.randrange(800),
                }
                for number in range(regions)
            ]
            described.write(separator + json.dumps({"regions": boxes, "id": image_id}))
        listing.write("]")
        described.write("]")


def folder_of(image_id: int) -> str:
    """Return which of the two folders contains the image."""
    return "VG_100K_2" if image_id % 2 else "VG_100K"


def open_files(folder: Path) -> Files:
    """Return both lists, and for each image a picture of noise that is drawn when opened."""
    images = len(json.loads((folder / IMAGE_DATA).read_bytes()))

    def opened(path: str) -> BinaryIO:
        if path.endswith(".json"):
            return (folder / path).open("rb")
        noise_HWC = np.random.default_rng(int(Path(path).stem)).integers(0, 256, (8, 8, 3), dtype=np.uint8)
        stream = io.BytesIO()
        Image.fromarray(noise_HWC).resize((64, 64)).save(stream, "bmp")
        return io.BytesIO(stream.getvalue())

    return Files([IMAGE_DATA, REGIONS, *sorted(f"{folder_of(i)}/{i}.jpg" for i in range(images))], opened)


def load(folder: Path) -> object:
    """Load the file at once, for comparison."""
    with (folder / REGIONS).open("rb") as stream:
        return json.load(stream)


def read(folder: Path) -> object:
    """Run the reader alone."""
    files = open_files(folder)
    return READERS["visual-genome"].read(files, files, CollectionConfig())


def check(folder: Path) -> object:
    """Gather, assemble, count and make tables."""
    files = open_files(folder)
    collection = gather(files, files, None, CollectionConfig(), workers=2, progress=progress)
    summary(collection)
    return collection, image_table(collection), caption_table(collection), problem_table(collection)


VARIANTS: dict[str, Callable[[Path], object]] = {"json.load": load, "reader": read, "check": check}


def run_alone(variant: str, folder: Path) -> tuple[float, float]:
    """Return the seconds and the peak resident memory in GB of a separate process."""
    command = [sys.executable, __file__, "--run", variant, str(folder)]
    seconds, kilobytes = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return seconds, kilobytes * 1024 / 1e9


def main() -> None:
    """Read the arguments, draw the files and measure each variant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=108_077)
    parser.add_argument("--regions", type=int, default=50, help="regions per image")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        started = time.perf_counter()
        kept = VARIANTS[args.run[0]](Path(args.run[1]))
        print(json.dumps([time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
        del kept
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_collection(folder, args.images, args.regions)
        megabytes = (folder / REGIONS).stat().st_size / 1e6
        print(f"{args.images:,} images of {args.regions} regions, {megabytes:,.0f} MB", flush=True)
        print(f"  {'':12} {'seconds':>8} {'MB/s':>8} {'peak GB':>8} {'times as long':>14} {'of its memory':>14}")
        floor = run_alone("json.load", folder)
        for variant in VARIANTS:
            seconds, peak = floor if variant == "json.load" else run_alone(variant, folder)
            ratios = f"{seconds / floor[0]:14.2f} {peak / floor[1]:14.2f}"
            print(f"  {variant:12} {seconds:8.1f} {megabytes / seconds:8.0f} {peak:8.2f} {ratios}", flush=True)


if __name__ == "__main__":
    main()
