"""An upright RGB picture to the pixels that a backbone sees."""

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from tasks.images.config import Preprocessing


def target_shape(width: int, height: int, preprocessing: Preprocessing) -> tuple[int, int]:
    """(height, width) in pixels: largest side `size`, aspect kept, both whole strides (METHOD.md 3)."""
    scale = preprocessing.size / max(width, height)
    stride = preprocessing.stride

    def rounded(side: int) -> int:
        return max(1, round(side * scale / stride)) * stride

    return rounded(height), rounded(width)


def to_pixels(image: Image.Image, preprocessing: Preprocessing) -> Tensor:
    """pixels_HWC, uint8, resized with an antialiased bicubic filter to `target_shape`."""
    height, width = target_shape(image.width, image.height, preprocessing)
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BICUBIC)
    return torch.from_numpy(np.array(image))


def normalise(pixels_BHWC: Tensor, preprocessing: Preprocessing) -> Tensor:
    """images_BCHW, float32 in channels-last memory: (pixels / 255 − mean) / std."""
    mean = torch.tensor(preprocessing.mean, device=pixels_BHWC.device)
    std = torch.tensor(preprocessing.std, device=pixels_BHWC.device)
    images_BHWC = pixels_BHWC.to(torch.float32) * (1 / (255 * std)) - mean / std
    return images_BHWC.permute(0, 3, 1, 2)
