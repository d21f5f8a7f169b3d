import pytest
import torch

from tasks.embedding.embed import embed_images
from tasks.images.loader import Refusal, load_inputs
from tests.tasks.images.making import encode, noise
from tests.tasks.model.making import tiny_model


def read(path: str) -> bytes:
    """A picture by its number, every third one tall; number 4 is none."""
    row = int(path)
    return b"?" if row == 4 else encode(noise(*((64, 96) if row % 3 == 0 else (96, 96)), seed=row))


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_every_image_comes_once_with_the_vector_it_has_alone(batch_size: int) -> None:
    model, paths = tiny_model().train(), [str(row) for row in range(10)]
    found, refusals = {}, []
    for item in embed_images(model, paths, read, device=torch.device("cpu"), batch_size=batch_size, workers=2):
        if isinstance(item, Refusal):
            refusals.append(item)
            continue
        rows, embedding_BD = item
        assert embedding_BD.dtype == torch.float32
        assert not set(rows) & found.keys()
        found |= dict(zip(rows, embedding_BD, strict=True))
    assert refusals == [Refusal(4, "not an image, or of an unknown type")]
    assert found.keys() == set(range(10)) - {4}
    for row, embedding_D in found.items():
        alone_D = model.embed_one(load_inputs(str(row), read, model.config.preprocessings)).detach()
        torch.testing.assert_close(embedding_D, alone_D, atol=1e-5, rtol=0)


def test_nothing_is_embedded_before_it_is_asked_for() -> None:
    def unread(path: str) -> bytes:
        raise AssertionError(path)

    embed_images(tiny_model(), ["0"], unread, device=torch.device("cpu"), batch_size=1, workers=1)
