import numpy as np
import pyarrow as pa
import torch

from tasks.features.descriptors import descriptor_column, descriptors_from
from tasks.images.loader import load_inputs
from tasks.training.embedders import through_head, through_network
from tests.tasks.images.making import encode, noise
from tests.tasks.model.making import random, tiny_model, tiny_projection

ROWS = np.array([5, 0, 3, 4, 1])


def read(path: str) -> bytes:
    """A picture by its number, every third one tall."""
    row = int(path)
    return encode(noise(*((64, 96) if row % 3 == 0 else (96, 96)), seed=row))


def test_through_the_head_descriptors_are_projected() -> None:
    head = tiny_projection()
    column = pa.chunked_array([descriptor_column(random(1, 1 + row % 3, 8, seed=row)) for row in range(6)])
    descriptors = descriptors_from(column, range(6), channels=8)
    embedding_BD = through_head(head, descriptors)(ROWS)
    torch.testing.assert_close(embedding_BD, head(*descriptors.take(ROWS)))
    embedding_BD[:, 0].sum().backward()
    assert head.linear_CD.grad.abs().sum() > 0


def test_through_the_network_every_image_keeps_its_place_and_gradient() -> None:
    model, paths = tiny_model().train(), [str(row) for row in range(6)]
    embed = through_network(model, paths, read, device=torch.device("cpu"), workers=2, chunk=2)
    embedding_BD = embed(ROWS)
    alone = [model.embed_one(load_inputs(str(row), read, model.config.preprocessings)) for row in ROWS]
    torch.testing.assert_close(embedding_BD, torch.stack(alone), atol=1e-6, rtol=0)
    embedding_BD[:, 0].sum().backward()
    assert model.backbones[0].convolution.weight.grad.abs().sum() > 0


def test_a_batch_in_chunks_has_the_gradients_of_the_whole_batch() -> None:
    gradients = []
    for chunk in (1, 2, 32):
        model = tiny_model().train()
        embed = through_network(
            model, [str(row) for row in range(6)], read, device=torch.device("cpu"), workers=2, chunk=chunk
        )
        embedding_BD = embed(ROWS)
        (embedding_BD @ embedding_BD.T).square().sum().backward()
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
    assert gradients[2].abs().sum() > 0
    for chunked in gradients[:2]:
        torch.testing.assert_close(chunked, gradients[2], atol=1e-6, rtol=1e-4)
