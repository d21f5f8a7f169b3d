import torch

from tasks.features.extract import extract
from tasks.images.config import Preprocessing
from tasks.images.loader import Refusal, load_inputs
from tasks.images.preprocess import normalise
from tasks.model.config import PoolingConfig
from tasks.model.pooling import describe
from tests.tasks.images.making import encode, noise
from tests.tasks.model.making import TinyBackbone

POOLINGS = [PoolingConfig(kind="gap"), PoolingConfig(kind="rmac_mean"), PoolingConfig(kind="blocks")]
PREPROCESSING = Preprocessing(size=96)


def read(path: str) -> bytes:
    """A picture by its number, every third one tall; the last is none."""
    row = int(path)
    return b"" if row == 10 else encode(noise(*((64, 96) if row % 3 == 0 else (96, 96)), seed=row))


def test_every_image_s_descriptors_of_every_pooling_come_once() -> None:
    backbone, paths = TinyBackbone(), [str(row) for row in range(11)]
    found: dict[int, list[torch.Tensor]] = {}
    refusals = []
    for item in extract(
        backbone, POOLINGS, paths, read, PREPROCESSING, device=torch.device("cpu"), batch_size=4, workers=2
    ):
        if isinstance(item, Refusal):
            refusals.append(item)
            continue
        rows, descriptors = item
        for place, row in enumerate(rows):
            assert row not in found
            found[row] = [descriptor_BRC[place] for descriptor_BRC in descriptors]
    assert refusals == [Refusal(10, "empty file")]
    assert found.keys() == set(range(10))
    for row, descriptors in found.items():
        pixels_BHWC = load_inputs(str(row), read, [PREPROCESSING])[0][None]
        outputs = backbone.outputs(normalise(pixels_BHWC, PREPROCESSING))
        for descriptor_RC, pooling in zip(descriptors, POOLINGS, strict=True):
            torch.testing.assert_close(descriptor_RC, describe([outputs], pooling)[0].detach(), atol=1e-5, rtol=0)
            assert not descriptor_RC.requires_grad
