"""Turns a file's bytes into the pixels that a backbone takes."""

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from tasks.images.config import Preprocessing
from tasks.images.decode import Picture, decode_reduced, refusing, upright_rgb

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


def to_pixels(image: bytes | Image.Image, preprocessing: Preprocessing) -> Tensor:
    """Return pixels_HWC, uint8, of a file's bytes or a Pillow image, resized to `target_shape`.

    The filter is antialiased. Raises UnreadableImage.
    """
    if isinstance(image, bytes):
        picture = decode_reduced(image, SPARE * preprocessing.size)
    else:
        upright = upright_rgb(image)
        picture = Picture(upright, upright.width, upright.height)
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
