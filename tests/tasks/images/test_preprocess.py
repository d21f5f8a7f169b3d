import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.images.config import Preprocessing
from tasks.images.decode import Picture, decode_reduced
from tasks.images.preprocess import normalise, target_shape, to_inputs, to_pixels
from tests.tasks.images.making import encode, flat, noise

sides = st.integers(1, 20_000)
strides = st.sampled_from([8, 16, 32])


@given(sides, sides, strides, st.integers(1, 40))
def test_sides_are_multiples_of_the_stride_and_the_largest_is_the_size(
    width: int, height: int, stride: int, strides_long: int
) -> None:
    preprocessing = Preprocessing(size=max(32, stride * strides_long), stride=stride)
    shape = target_shape(width, height, preprocessing)
    assert all(side % stride == 0 and side >= stride for side in shape)
    assert max(shape) == preprocessing.size
    assert (shape[0] - shape[1]) * (height - width) >= 0


@given(sides, sides, strides)
def test_the_aspect_is_kept_as_well_as_strides_allow(width: int, height: int, stride: int) -> None:
    for side, given_side in zip(
        target_shape(width, height, Preprocessing(stride=stride)), (height, width), strict=True
    ):
        exact = given_side * 224 / max(width, height)
        assert abs(side - exact) <= stride / 2 or (side == stride and exact < stride)


@pytest.mark.parametrize(
    ("width", "height", "shape"),
    [
        (640, 480, (448, 576)),
        (480, 640, (576, 448)),
        (1, 1, (576, 576)),
        (2000, 40, (32, 576)),
        (640, 427, (384, 576)),
    ],
)
def test_target_shape_by_hand(width: int, height: int, shape: tuple[int, int]) -> None:
    assert target_shape(width, height, Preprocessing(size=576)) == shape


def test_a_picture_of_the_right_size_stays_untouched() -> None:
    pixels_HWC = to_pixels(encode(noise(224, 224)), Preprocessing())
    assert pixels_HWC.dtype == torch.uint8
    np.testing.assert_array_equal(pixels_HWC, np.asarray(noise(224, 224)))


def test_pixels_are_resized_to_the_target_shape() -> None:
    assert to_pixels(encode(noise(100, 50)), Preprocessing(size=64)).shape == (32, 64, 3)
    assert (to_pixels(encode(flat("lime", 999, 3)), Preprocessing()) == torch.tensor([0, 255, 0])).all()


def test_resizing_averages_what_it_cannot_show() -> None:
    stripes = noise(512, 512).convert("1").convert("RGB")
    assert to_pixels(encode(stripes), Preprocessing(size=32)).float().std() < 30


def test_normalise_is_the_formula_in_channels_last_memory() -> None:
    preprocessing = Preprocessing(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
    pixels_BHWC = torch.randint(0, 256, (2, 5, 4, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    images_BCHW = normalise(pixels_BHWC, preprocessing)
    expected = (pixels_BHWC.numpy() / 255 - preprocessing.mean) / preprocessing.std
    np.testing.assert_allclose(images_BCHW, expected.transpose(0, 3, 1, 2), atol=1e-6)
    assert images_BCHW.dtype == torch.float32
    assert images_BCHW.is_contiguous(memory_format=torch.channels_last)


def test_unknown_and_impossible_settings_are_refused() -> None:
    for wrong in ({"size": 31}, {"stride": 0}, {"mode": "crop"}):
        with pytest.raises(ValidationError):
            Preprocessing.model_validate(wrong)


def test_an_image_is_decoded_once_for_all_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A smaller network beside a larger one gets the pixels that it gets alone, if it was told so."""
    data = encode(noise(1000, 750), "jpeg")
    large, small = Preprocessing(size=256), Preprocessing(size=64, decoded_size=256)
    expected = [to_pixels(data, large), to_pixels(data, small)]
    decoded: list[int] = []

    def spy(data: bytes, side: int) -> Picture:
        decoded.append(side)
        return decode_reduced(data, side)

    monkeypatch.setattr("tasks.images.preprocess.decode_reduced", spy)
    inputs = to_inputs(data, [large, small])
    assert decoded == [512]
    assert [pixels_HWC.shape for pixels_HWC in inputs] == [(192, 256, 3), (64, 64, 3)]
    for found_HWC, expected_HWC in zip(inputs, expected, strict=True):
        assert torch.equal(found_HWC, expected_HWC)
    assert not torch.equal(to_pixels(data, Preprocessing(size=64)), inputs[1])
