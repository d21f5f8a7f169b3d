from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from tasks.errors import InputError
from tasks.images.config import Preprocessing
from tasks.images.loader import Refusal
from tasks.images.preprocess import Inputs
from tasks.model.batches import run_in_batches
from tests.tasks.images.making import encode, noise

PREPROCESSING = Preprocessing(size=64)


def read(path: str) -> bytes:
    """An image by its number; number 2 is not one."""
    return b"" if path == "2" else encode(noise(64, 64, seed=int(path)))


def test_each_path_is_computed_once_without_gradients_or_refused() -> None:
    weight = torch.ones((), requires_grad=True)

    def compute(inputs: Inputs) -> Tensor:
        return weight * inputs[0].float().mean((1, 2, 3))

    paths = [str(row) for row in range(5)]
    found = list(
        run_in_batches(compute, paths, read, [PREPROCESSING], device=torch.device("cpu"), batch_size=2, workers=1)
    )
    assert [item for item in found if isinstance(item, Refusal)] == [Refusal(2, "empty file")]
    batches = [item for item in found if not isinstance(item, Refusal)]
    assert sorted(row for rows, _ in batches for row in rows) == [0, 1, 3, 4]
    assert all(len(rows) == len(mean_B) and not mean_B.requires_grad for rows, mean_B in batches)


def run(compute: Callable[[Inputs], Tensor], images: int, batch_size: int) -> list[tuple[tuple[int, ...], Tensor]]:
    paths = [str(row) for row in range(10, 10 + images)]
    found = run_in_batches(
        compute, paths, read, [PREPROCESSING], device=torch.device("cpu"), batch_size=batch_size, workers=1
    )
    return [item for item in found if not isinstance(item, Refusal)]


def test_a_batch_that_does_not_fit_is_halved_and_so_are_those_after_it() -> None:
    sizes: list[int] = []

    def compute(inputs: Inputs) -> Tensor:
        sizes.append(len(inputs[0]))
        if len(inputs[0]) > 3:
            raise torch.OutOfMemoryError
        return inputs[0].float().mean((1, 2, 3))

    found = run(compute, images=20, batch_size=8)
    assert sizes == [8, 4, *[2] * 10]
    assert [row for rows, _ in found for row in rows] == list(range(20))
    expected = run(lambda inputs: inputs[0].float().mean((1, 2, 3)), images=20, batch_size=20)
    torch.testing.assert_close(torch.cat([mean_B for _, mean_B in found]), expected[0][1])


def test_an_image_that_does_not_fit_is_one_sentence() -> None:
    def compute(_: Inputs) -> Tensor:
        raise torch.OutOfMemoryError

    with pytest.raises(InputError, match="Out of memory on cpu with a single image; set runtime"):
        run(compute, images=3, batch_size=2)


def test_the_next_batch_is_started_before_the_results_of_one_are_used() -> None:
    events: list[str] = []

    def compute(inputs: Inputs) -> Tensor:
        events.append("started")
        return inputs[0]

    paths = ["10", "11", "12"]
    for _ in run_in_batches(compute, paths, read, [PREPROCESSING], device=torch.device("cpu"), batch_size=1, workers=1):
        events.append("used")
    assert events == ["started", "started", "used", "started", "used", "used"]
