"""Search among unseen and training images together, as in an index of the training collection (METHOD.md 6)."""

from collections.abc import Iterator

import numpy as np
from pydantic import BaseModel, ConfigDict
from scipy.sparse import csr_array, vstack

from tasks.evaluation.jackknife import auc, mean_over_runs
from tasks.evaluation.rankings import VALUES_PER_BLOCK, rank_images
from tasks.evaluation.steering import TOP, draw_pairs, steering_words
from tasks.evaluation.summary import Metric
from tasks.search.modifiers import ADD, steer_queries


class MixedMetrics(BaseModel):
    """Queries of the split rank its images and the training images: NDCG AUC 0–100, shares of the top 10 0–1.

    `train_share` is the share of training images in the results of an image, `word_train_share` in those of a word,
    `image_and_word_train_share` in those of both; `train_share_expected` is their share of the images searched.
    """

    model_config = ConfigDict(frozen=True)

    ndcg_auc: Metric
    train_share: float
    train_share_expected: float
    word_train_share: float | None = None
    image_and_word_train_share: float | None = None


def measure_mixed(
    split_ND: np.ndarray,
    train_TD: np.ndarray,
    split_tfidf_NV: csr_array,
    train_tfidf_TV: csr_array,
    query_Q: np.ndarray,
    *,
    seed: int,
) -> MixedMetrics:
    """Search the split's and the training images with query images of the split, rows query_Q."""
    images = len(split_ND)
    gallery_ND = np.concatenate([split_ND, train_TD])
    tfidf_NV = csr_array(vstack([split_tfidf_NV, train_tfidf_TV]))
    ranked = rank_images(tfidf_NV, query_Q, {"model": gallery_ND}, {}, seed=seed, references=False)
    ndcg_QR, _ = mean_over_runs(ranked, ranked.runs["model"])
    return MixedMetrics(
        ndcg_auc=auc(ndcg_QR, ranked.ndcg_at),
        train_share=float((ranked.runs["model"][0].row_QK[:, :TOP] >= images).mean()),
        train_share_expected=len(train_TD) / ranked.ranked,
    )


def measure_mixed_words(
    split_ND: np.ndarray, train_TD: np.ndarray, theta_VD: np.ndarray, model_tfidf_NV: csr_array, *, seed: int
) -> dict[str, float]:
    """Search the same images by words that 2–10% of the split's images have, and by images with such a word added.

    `model_tfidf_NV` of the split has the columns of `theta_VD`. Empty if there are no such words.
    """
    word_W = steering_words(model_tfidf_NV, theta_VD)
    query_P, word_P = draw_pairs(model_tfidf_NV, word_W, seed=seed)
    if not len(query_P):
        return {}
    gallery_ND = np.concatenate([split_ND, train_TD])
    steered_PD = steer_queries(split_ND[query_P], theta_VD[word_P], ADD)
    none_W = np.full(len(word_W), -1)
    return {
        "word_train_share": _train_share(theta_VD[word_W], none_W, gallery_ND, len(split_ND)),
        "image_and_word_train_share": _train_share(steered_PD, query_P, gallery_ND, len(split_ND)),
    }


def _train_share(query_PD: np.ndarray, own_P: np.ndarray, gallery_ND: np.ndarray, images: int) -> float:
    """Average the share of training images, rows from `images` on, in the top 10 without the query's own image."""
    return float(np.mean(np.concatenate(list(_top_rows(query_PD, own_P, gallery_ND))) >= images))


def _top_rows(query_PD: np.ndarray, own_P: np.ndarray, gallery_ND: np.ndarray) -> Iterator[np.ndarray]:
    """Yield row_BT of the top 10 of blocks of queries; own_P are rows to leave out, −1 for none."""
    step = max(1, VALUES_PER_BLOCK // len(gallery_ND))
    for start in range(0, len(query_PD), step):
        score_BN = query_PD[start : start + step] @ gallery_ND.T
        own_B = own_P[start : start + step]
        score_BN[np.flatnonzero(own_B >= 0), own_B[own_B >= 0]] = -np.inf
        top = min(TOP, score_BN.shape[1] - 1)
        yield np.argpartition(-score_BN, top - 1, axis=1)[:, :top]
