import pytest
import torch

from tasks.model.losses import triplet_loss
from tests.tasks.model.making import random


@pytest.mark.parametrize("margin", [0.05, 0.2, 3.0])
def test_equals_the_formula(margin: float) -> None:
    query_TD, relevant_TD, nonrelevant_TD = (
        torch.nn.functional.normalize(random(20, 5, seed=seed)) for seed in range(3)
    )
    expected = [
        0.5
        * max(
            0.0,
            margin - sum(a * b for a, b in zip(q, p, strict=True)) + sum(a * b for a, b in zip(q, n, strict=True)),
        )
        for q, p, n in zip(query_TD.tolist(), relevant_TD.tolist(), nonrelevant_TD.tolist(), strict=True)
    ]
    loss_T = triplet_loss(query_TD, relevant_TD, nonrelevant_TD, margin)
    torch.testing.assert_close(loss_T, torch.tensor(expected))


def test_a_collapsed_embedding_loses_half_the_margin() -> None:
    point_TD = torch.tensor([[0.6, 0.8]])
    assert triplet_loss(point_TD, point_TD, point_TD, 0.1).item() == pytest.approx(0.05)


def test_satisfied_triplets_have_neither_loss_nor_gradient() -> None:
    query_TD = torch.tensor([[1.0, 0.0]], requires_grad=True)
    loss_T = triplet_loss(query_TD, torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]]), 0.1)
    loss_T.sum().backward()
    assert loss_T.item() == 0
    assert (query_TD.grad == 0).all()


def test_identical_images_have_finite_gradients() -> None:
    raw_TD = torch.ones(3, 4, requires_grad=True)
    same_TD = torch.nn.functional.normalize(raw_TD)
    triplet_loss(same_TD, same_TD, same_TD, 0.1).mean().backward()
    assert raw_TD.grad.isfinite().all()
