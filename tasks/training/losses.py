"""The triplet losses, and those that each method trains (METHOD.md 4)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from tasks.training.config import TripletMethod
from tasks.training.embedders import Embed


def triplet_loss(query_TD: Tensor, relevant_TD: Tensor, nonrelevant_TD: Tensor, margin: float) -> Tensor:
    """Compute loss_T = ½ max(0, m − φ_q·φ_+ + φ_q·φ_−) of each triplet, equation (1)."""
    positive_T = (query_TD * relevant_TD).sum(-1)
    negative_T = (query_TD * nonrelevant_TD).sum(-1)
    return 0.5 * (margin - positive_T + negative_T).clamp(min=0)


Modality = Literal["image", "text"]
QUERY, RELEVANT, NONRELEVANT = 0, 1, 2  # columns of a triplet


@dataclass(frozen=True)
class Term:
    """One triplet loss: the modality that embeds queries, and the one that embeds the images to be found."""

    query: Modality
    found: Modality

    def columns(self, modality: Modality) -> set[int]:
        """Return the columns of a triplet that this modality embeds."""
        queries = {QUERY} if self.query == modality else set()
        return queries | ({RELEVANT, NONRELEVANT} if self.found == modality else set())


L_V, L_T1, L_T2 = Term("image", "image"), Term("image", "text"), Term("text", "image")

TERMS: dict[TripletMethod, tuple[Term, ...]] = {"v_v": (L_V,), "vt_v": (L_V, L_T1, L_T2), "wsabie": (L_T1,)}
"""Equations (1) to (3) by method; triplets are mined by the first."""


@dataclass(frozen=True)
class BatchLoss:
    """loss_T, the sum of the terms, and the rows and embeddings of the batch's U unique images."""

    loss_T: Tensor
    row_U: np.ndarray
    embedding_UD: Tensor


def batch_loss(
    terms: tuple[Term, ...], embeds: Mapping[Modality, Embed], triplet_T3: np.ndarray, margin: float
) -> BatchLoss:
    """Compute the losses of a batch of triplets (rows of training images).

    An image is embedded once, however many triplets use it, and only if a term needs it.
    """
    stream: dict[tuple[Modality, int], Tensor] = {}
    for modality, embed in embeds.items():
        columns = sorted(set().union(*(term.columns(modality) for term in terms)))
        row_U, place = np.unique(triplet_T3[:, columns], return_inverse=True)
        embedding_UD = embed(row_U)
        # index_select has a deterministic gradient on a CPU, plain indexing does not
        place_N = torch.from_numpy(place.reshape(-1)).to(embedding_UD.device)
        streams = embedding_UD.index_select(0, place_N).unflatten(0, (-1, len(columns))).unbind(1)
        stream |= {(modality, column): each for column, each in zip(columns, streams, strict=True)}
        if modality == "image":
            images = row_U, embedding_UD.detach()
    losses = [
        triplet_loss(stream[term.query, QUERY], stream[term.found, RELEVANT], stream[term.found, NONRELEVANT], margin)
        for term in terms
    ]
    return BatchLoss(torch.stack(losses).sum(0), *images)
