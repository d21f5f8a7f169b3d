"""A file's bytes to the pixels that a backbone sees."""

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from tasks.images.config import Preprocessing
from tasks.images.decode import Picture, decode_reduced, upright_rgb

SPARE = 2  # times the size wanted: what the JPEG decoder leaves, so that the bicubic filter decides how it looks


def target_shape(width: int, height: int, preprocessing: Preprocessing) -> tuple[int, int]:
    """(height, width) in pixels: largest side `size`, aspect kept, both whole strides (METHOD.md 3)."""
    scale = preprocessing.size / max(width, height)
    stride = preprocessing.stride

    def rounded(side: int) -> int:
        return max(1, round(side * scale / stride)) * stride

    return rounded(height), rounded(width)


def to_pixels(image: bytes | Image.Image, preprocessing: Preprocessing) -> Tensor:
    """pixels_HWC, uint8, of a file's bytes or a picture, resized by an antialiased bicubic filter to `target_shape`.

    Raises UnreadableImage.
    """
    if isinstance(image, bytes):
        picture = decode_reduced(image, SPARE * preprocessing.size)
    else:
        upright = upright_rgb(image)
        picture = Picture(upright, upright.width, upright.height)
    height, width = target_shape(picture.width, picture.height, preprocessing)
    resized = picture.image
    if resized.size != (width, height):
        resized = resized.resize((width, height), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(resized))


def normalise(pixels_BHWC: Tensor, preprocessing: Preprocessing) -> Tensor:
    """images_BCHW, float32 in channels-last memory: (pixels / 255 − mean) / std."""
    mean = torch.tensor(preprocessing.mean, device=pixels_BHWC.device)
    std = torch.tensor(preprocessing.std, device=pixels_BHWC.device)
    images_BHWC = pixels_BHWC.to(torch.float32) * (1 / (255 * std)) - mean / std
    return images_BHWC.permute(0, 3, 1, 2)
