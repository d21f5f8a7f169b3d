"""Random crops of images, for training a network."""

import math

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from tasks.images.config import Preprocessing
from tasks.images.decode import decode_reduced, refusing
from tasks.images.preprocess import SPARE

LOG_ASPECT = math.log(4 / 3)  # a crop is at most so elongated before it is resized to a square
USUAL_ASPECT = 3 / 4  # of photographs


def crop_side(preprocessing: Preprocessing, size: int | None = None) -> int:
    """Return the side in pixels of a square with about as many pixels as a photograph of a size, or of the network's.

    A network that accepts one shape only gets that.
    """
    if preprocessing.square:
        return preprocessing.size
    size = size or preprocessing.size
    return max(1, round(size * math.sqrt(USUAL_ASPECT) / preprocessing.stride)) * preprocessing.stride


def random_crop(
    data: bytes, preprocessing: Preprocessing, side: int, smallest: float, random: np.random.Generator
) -> Tensor:
    """Return pixels_HWC, uint8, of a random part of an image, resized to a square of this side, perhaps mirrored.

    The part has at least the share `smallest` of the image's area, as far as its shape allows. Raises UnreadableImage.
    """
    image = decode_reduced(data, SPARE * side).image
    area = image.width * image.height * random.uniform(smallest, 1)
    aspect = math.exp(random.uniform(-LOG_ASPECT, LOG_ASPECT))
    width, height = min(image.width, math.sqrt(area * aspect)), min(image.height, math.sqrt(area / aspect))
    left, top = random.uniform(0, image.width - width), random.uniform(0, image.height - height)
    mirrored = random.random() < 0.5
    with refusing():
        resample = Image.Resampling[preprocessing.interpolation.upper()]
        part = image.resize((side, side), resample, box=(left, top, left + width, top + height))
        return torch.from_numpy(np.array(part)[:, ::-1].copy() if mirrored else np.array(part))
