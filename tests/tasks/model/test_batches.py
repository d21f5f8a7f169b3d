import torch
from torch import Tensor

from tasks.images.config import Preprocessing
from tasks.images.loader import Refusal
from tasks.model.batches import run_in_batches
from tests.tasks.images.making import encode, noise

PREPROCESSING = Preprocessing(size=64)


def read(path: str) -> bytes:
    """An image by its number; number 2 is not one."""
    return b"" if path == "2" else encode(noise(64, 64, seed=int(path)))


def test_each_path_is_computed_once_without_gradients_or_refused() -> None:
    weight = torch.ones((), requires_grad=True)

    def compute(pixels_BHWC: Tensor) -> Tensor:
        return weight * pixels_BHWC.float().mean((1, 2, 3))

    paths = [str(row) for row in range(5)]
    found = list(
        run_in_batches(compute, paths, read, PREPROCESSING, device=torch.device("cpu"), batch_size=2, workers=1)
    )
    assert [item for item in found if isinstance(item, Refusal)] == [Refusal(2, "empty file")]
    batches = [item for item in found if not isinstance(item, Refusal)]
    assert sorted(row for rows, _ in batches for row in rows) == [0, 1, 3, 4]
    assert all(len(rows) == len(mean_B) and not mean_B.requires_grad for rows, mean_B in batches)
