"""Turns a file's bytes into the pixels that each backbone takes."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from tasks.images.config import Preprocessing
from tasks.images.decode import Picture, decode_reduced, refusing, upright_rgb

Inputs: TypeAlias = tuple[Tensor, ...]
"""The same images as pixels, uint8, for each network of a model: of one image HWC, of several of one shape BHWC."""

SPARE = 2  # a JPEG is decoded at no less than this multiple of the size, so that the filter does the resizing


def target_shape(width: int, height: int, preprocessing: Preprocessing) -> tuple[int, int]:
    """Return (height, width) in pixels: longer side `size`, same aspect, both multiples of the stride (METHOD.md 3).

    If the network accepts squares only, both are `size`, which distorts the image; heat maps stretch back with it.
    """
    if preprocessing.square:
        return preprocessing.size, preprocessing.size
    scale = preprocessing.size / max(width, height)
    stride = preprocessing.stride

    def rounded(side: int) -> int:
        return max(1, round(side * scale / stride)) * stride

    return rounded(height), rounded(width)


def to_inputs(image: bytes | Image.Image, preprocessings: Sequence[Preprocessing]) -> Inputs:
    """Return pixels_HWC for each network of a file's bytes, which are decoded once, or of a Pillow image.

    Raises UnreadableImage.
    """
    if isinstance(image, bytes):
        sizes = {preprocessing.decoded_size or preprocessing.size for preprocessing in preprocessings}
        picture = decode_reduced(image, SPARE * max(sizes))
    else:
        upright = upright_rgb(image)
        picture = Picture(upright, upright.width, upright.height)
    return tuple(_resize(picture, preprocessing) for preprocessing in preprocessings)


def to_pixels(image: bytes | Image.Image, preprocessing: Preprocessing) -> Tensor:
    """Return pixels_HWC, uint8, of a file's bytes or a Pillow image, resized to `target_shape`.

    Raises UnreadableImage.
    """
    return to_inputs(image, [preprocessing])[0]


def _resize(picture: Picture, preprocessing: Preprocessing) -> Tensor:
    """Return pixels_HWC, uint8; the filter is antialiased."""
    height, width = target_shape(picture.width, picture.height, preprocessing)
    resized = picture.image
    with refusing():
        if resized.size != (width, height):
            resized = resized.resize((width, height), Image.Resampling[preprocessing.interpolation.upper()])
        return torch.from_numpy(np.array(resized))


def normalise(pixels_BHWC: Tensor, preprocessing: Preprocessing) -> Tensor:
    """Return images_BCHW, float32 in channels-last memory: (pixels / 255 − mean) / std."""
    mean = torch.tensor(preprocessing.mean, device=pixels_BHWC.device)
    std = torch.tensor(preprocessing.std, device=pixels_BHWC.device)
    images_BHWC = pixels_BHWC.to(torch.float32) * (1 / (255 * std)) - mean / std
    return images_BHWC.permute(0, 3, 1, 2)
