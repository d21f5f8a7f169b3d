"""The text embedding that is trained jointly with the visual one (METHOD.md 4)."""

import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse import csr_array
from torch import Tensor, nn


class TextEmbedding(nn.Module):
    """θ(t) = normalise(t · text_VD)."""

    def __init__(self, text_VD: Tensor) -> None:
        super().__init__()
        self.text_VD = nn.Parameter(text_VD.clone())

    def forward(self, tfidf_BV: csr_array) -> Tensor:
        """Compute embedding_BD: unit length, or 0 for a text without a weighted stem."""
        device = self.text_VD.device
        stems, starts = (
            torch.from_numpy(part.astype(np.int64)).to(device) for part in (tfidf_BV.indices, tfidf_BV.indptr[:-1])
        )
        weights = torch.from_numpy(tfidf_BV.data).to(self.text_VD)
        summed_BD = F.embedding_bag(stems, self.text_VD, starts, mode="sum", per_sample_weights=weights)
        return F.normalize(summed_BD, dim=-1)


def initial_text(tfidf_NV: csr_array, embedding_ND: np.ndarray) -> Tensor:
    """Compute the initial text_VD: for each stem the mean of the training images' embeddings, weighted by tf-idf."""
    total_V = np.maximum(np.asarray(tfidf_NV.sum(0)).ravel(), 1e-12)
    return torch.from_numpy((tfidf_NV.T @ embedding_ND) / total_V[:, None]).float()
