"""An upright RGB picture to the pixels that a backbone sees; stored with the model and used everywhere."""

import numpy as np
import torch
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor


class Preprocessing(BaseModel):
    """Largest side in pixels, the backbone's stride that sides are rounded to, and its colour normalisation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int = Field(default=224, ge=32)
    stride: int = Field(default=32, ge=1)
    mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    std: tuple[float, float, float] = (0.5, 0.5, 0.5)


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
