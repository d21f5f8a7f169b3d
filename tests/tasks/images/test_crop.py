import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from tasks.images.config import Preprocessing
from tasks.images.crop import crop_side, random_crop
from tasks.images.decode import UnreadableImage
from tests.tasks.images.making import encode, flat

SMALL = Preprocessing(size=64)


@pytest.mark.parametrize(
    ("preprocessing", "side"),
    [
        (Preprocessing(size=224), 192),
        (Preprocessing(size=288), 256),
        (Preprocessing(size=320), 288),
        (Preprocessing(size=32), 32),
        (Preprocessing(size=240, stride=16), 208),
        (Preprocessing(size=224, square=True), 224),
    ],
)
def test_a_crop_has_about_as_many_pixels_as_a_photograph(preprocessing: Preprocessing, side: int) -> None:
    assert crop_side(preprocessing) == side
    assert crop_side(preprocessing, 96) == (224 if preprocessing.square else 80 if preprocessing.stride == 16 else 96)


def ramps(width: int, height: int) -> bytes:
    """A picture whose red rises from left to right and whose green rises from top to bottom."""
    red, green = np.meshgrid(np.linspace(0, 255, width), np.linspace(0, 255, height))
    return encode(Image.fromarray(np.stack([red, green, green * 0], axis=-1).astype(np.uint8)))


@given(st.integers(0, 2**32), st.sampled_from([(400, 300), (300, 400), (300, 300)]))
def test_a_crop_shows_at_least_the_share_of_the_area(seed: int, shape: tuple[int, int]) -> None:
    crop_HWC = random_crop(ramps(*shape), SMALL, 64, 0.5, np.random.default_rng(seed)).numpy().astype(int)
    assert crop_HWC.shape == (64, 64, 3)
    width, height = np.ptp(crop_HWC[..., 0]) / 255, np.ptp(crop_HWC[..., 1]) / 255
    assert 0.48 < width * height <= 1


def test_half_of_the_crops_are_mirrored_and_a_seed_repeats_its_own() -> None:
    data, crops = ramps(80, 60), []
    for seed in range(60):
        crops.append(random_crop(data, SMALL, 64, 0.5, np.random.default_rng(seed)).numpy().astype(int))
        again = random_crop(data, SMALL, 64, 0.5, np.random.default_rng(seed)).numpy()
        np.testing.assert_array_equal(crops[-1], again)
    mirrored = sum(crop_HWC[0, 0, 0] > crop_HWC[0, -1, 0] for crop_HWC in crops)
    assert 15 < mirrored < 45
    assert all(crop_HWC[0, 0, 1] < crop_HWC[-1, 0, 1] for crop_HWC in crops)  # never upside down


@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (700, 3)])
def test_extreme_shapes_are_cropped_too(shape: tuple[int, int]) -> None:
    assert random_crop(encode(flat("red", *shape)), SMALL, 64, 0.5, np.random.default_rng(0)).shape == (64, 64, 3)


def test_what_is_no_image_is_refused() -> None:
    with pytest.raises(UnreadableImage):
        random_crop(b"no image", SMALL, 64, 0.5, np.random.default_rng(0))
