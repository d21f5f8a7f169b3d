"""Tests of the triplet losses."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor

from tasks.training.losses import TERMS, BatchLoss, batch_loss, triplet_loss
from tasks.training.text_embedding import TextEmbedding, initial_text
from tests.tasks.model.making import random

MARGIN = 0.2
IMAGE_ND = torch.nn.functional.normalize(random(6, 4, seed=1), dim=1)
TEXT_ND = torch.nn.functional.normalize(random(6, 4, seed=2), dim=1)
TRIPLETS = np.array([[0, 1, 2], [0, 1, 3], [4, 0, 2]])


def losses(method: str, calls: dict[str, list[int]] | None = None) -> BatchLoss:
    def embed(name: str, embedding_ND: Tensor, rows: np.ndarray) -> Tensor:
        if calls is not None:
            calls[name] = rows.tolist()
        return embedding_ND[torch.from_numpy(rows)]

    embeds = {
        "image": lambda rows: embed("image", IMAGE_ND, rows),
        "text": lambda rows: embed("text", TEXT_ND, rows),
    }
    used = {name: each for name, each in embeds.items() if any(name in (t.query, t.found) for t in TERMS[method])}
    return batch_loss(TERMS[method], used, TRIPLETS, MARGIN)


def slow(left_D: Tensor, relevant_D: Tensor, nonrelevant_D: Tensor) -> float:
    return max(0.0, MARGIN - float(left_D @ relevant_D) + float(left_D @ nonrelevant_D)) / 2


@pytest.mark.parametrize("method", TERMS)
def test_the_losses_are_those_of_the_equations(method: str) -> None:
    expected = []
    for q, r, n in TRIPLETS:
        l_v = slow(IMAGE_ND[q], IMAGE_ND[r], IMAGE_ND[n])
        l_t1 = slow(IMAGE_ND[q], TEXT_ND[r], TEXT_ND[n])
        l_t2 = slow(TEXT_ND[q], IMAGE_ND[r], IMAGE_ND[n])
        expected.append({"v_v": l_v, "vt_v": l_v + l_t1 + l_t2, "wsabie": l_t1}[method])
    torch.testing.assert_close(losses(method).loss_T, torch.tensor(expected))


@pytest.mark.parametrize(
    ("method", "images", "texts"),
    [
        ("v_v", [0, 1, 2, 3, 4], None),
        ("vt_v", [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]),
        ("wsabie", [0, 4], [0, 1, 2, 3]),
    ],
)
def test_each_image_is_embedded_once_and_only_where_a_loss_needs_it(
    method: str, images: list[int], texts: list[int] | None
) -> None:
    calls: dict[str, list[int]] = {}
    batch = losses(method, calls)
    assert calls["image"] == batch.row_U.tolist() == images
    assert calls.get("text") == texts


def test_a_text_is_embedded_by_its_stems() -> None:
    tfidf_BV = csr_array(np.array([[0.6, 0.0, 0.8], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]], np.float32))
    text = TextEmbedding(random(3, 5, seed=3))
    expected = torch.nn.functional.normalize(torch.from_numpy(tfidf_BV.toarray()) @ text.text_VD, dim=1)
    torch.testing.assert_close(text(tfidf_BV), expected)
    assert (text(tfidf_BV)[1] == 0).all()


def test_gradients_reach_the_stems_of_the_texts_alone() -> None:
    text = TextEmbedding(random(3, 5, seed=3))
    text(csr_array(np.array([[0.6, 0.0, 0.8]], np.float32)))[:, 0].sum().backward()
    assert text.text_VD.grad is not None
    assert (text.text_VD.grad.abs().sum(1) > 0).tolist() == [True, False, True]


def test_a_stem_begins_as_the_mean_of_its_images() -> None:
    tfidf_NV = csr_array(np.array([[1.0, 0, 0], [0.5, 0.5, 0]], np.float32))
    text_VD = initial_text(tfidf_NV, np.array([[1.0, 0.0], [0.0, 1.0]], np.float32))
    torch.testing.assert_close(text_VD, torch.tensor([[1 / 1.5, 0.5 / 1.5], [0, 1], [0, 0]]))


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
