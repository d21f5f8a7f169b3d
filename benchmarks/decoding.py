"""Measure decoding of image files into a backbone's pixels against plain Pillow.

    python benchmarks/decoding.py [FOLDER]

Plain Pillow opens, converts to RGB and resizes with the same filter. Both decode the original files and 12-megapixel
JPEGs made from them. Without a folder, scenes are drawn. Differences are in grey levels, 0–255.
"""

import argparse
import io
from pathlib import Path

import numpy as np
from PIL import Image
from rounds import seconds
from sample_images import read, sample_images

from tasks.images.config import Preprocessing
from tasks.images.preprocess import target_shape, to_pixels

LARGE = (4000, 3000)


def plain(data: bytes, preprocessing: Preprocessing) -> np.ndarray:
    """Decode and resize with Pillow alone."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    height, width = target_shape(*image.size, preprocessing)
    return np.asarray(image.resize((width, height), Image.Resampling.BICUBIC))


def enlarged(data: bytes) -> bytes:
    """Return the picture as a JPEG of a camera's size."""
    stream = io.BytesIO()
    Image.open(io.BytesIO(data)).convert("RGB").resize(LARGE, Image.Resampling.BICUBIC).save(stream, "jpeg", quality=90)
    return stream.getvalue()


def measure(name: str, files: list[bytes], size: int, rounds: int) -> None:
    """Print pictures per second of both, their ratio, and the mean difference of the pixels."""
    preprocessing = Preprocessing(size=size)
    difference = [
        np.abs(to_pixels(data, preprocessing).numpy().astype(int) - plain(data, preprocessing)).mean() for data in files
    ]
    taken = seconds(
        {
            "scenekin": lambda: [to_pixels(data, preprocessing) for data in files],
            "Pillow": lambda: [plain(data, preprocessing) for data in files],
        },
        rounds,
    )
    print(f"{name}: {len(files)} files, {size} pixels, one thread")
    for method, seconds_R in taken.items():
        print(f"  {method:12} {len(files) / np.median(seconds_R):8.1f} pictures/s")
    ratio_R = taken["Pillow"] / taken["scenekin"]
    print(f"  {'ratio':12} {np.median(ratio_R):8.2f}   ({ratio_R.min():.2f} to {ratio_R.max():.2f})")
    print(f"  {'difference':12} {np.mean(difference):8.2f} levels")


def main() -> None:
    """Read the arguments, find or draw images, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--large", type=int, default=8, help="number of images to enlarge")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with sample_images(args.folder, args.images) as paths:
        files = [read(path) for path in paths]
        measure("original files", files, args.size, args.rounds)
        measure("12 megapixels", [enlarged(data) for data in files[: args.large]], args.size, args.rounds)


if __name__ == "__main__":
    main()
