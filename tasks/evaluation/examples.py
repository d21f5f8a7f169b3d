"""Example queries and their results: for several methods, and for one method with words added or removed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from scipy.sparse import csr_array

from tasks.captions.tfidf import tfidf
from tasks.evaluation.sheets import Example, ReadImage, first_hits, result_sheet
from tasks.evaluation.steering import steering_words
from tasks.metrics.ranked import Floats
from tasks.model.text_model import TextModel
from tasks.search.modifiers import ADD, REMOVE, steer

STEERED_TOP = 5


@dataclass(frozen=True)
class Gallery:
    """A split's images, for examples: captions by id, in id order, and their tfidf_NV."""

    captions: Mapping[str, Sequence[str]]
    tfidf_NV: csr_array
    read_image: ReadImage

    def example(self, row: int, scores: Mapping[str, Floats], top: int = 7) -> Example:
        """Search with the image of a row: the first hits by each label's score_N."""
        image_ids = list(self.captions)
        hits = {
            label: first_hits(
                image_ids[row],
                image_ids=image_ids,
                score_N=score_N,
                similarity_N=(self.tfidf_NV @ self.tfidf_NV[[row]].T).toarray().ravel(),
                captions=self.captions,
                top=top,
            )
            for label, score_N in scores.items()
        }
        sheet = result_sheet(image_ids[row], hits, self.read_image)
        captions = tuple(self.captions[image_ids[row]])
        return Example(query_id=image_ids[row], captions=captions, hits=hits, sheet=sheet)


def make_examples(
    gallery: Gallery, query_Q: np.ndarray, embeddings: Mapping[str, np.ndarray], *, count: int, seed: int
) -> list[Example]:
    """Draw seeded queries, never chosen by result, and search each label's embedding_ND."""
    return [
        gallery.example(row, {label: each_ND @ each_ND[row] for label, each_ND in embeddings.items()})
        for row in np.random.default_rng(seed).permutation(query_Q)[:count]
    ]


def make_steered_examples(
    gallery: Gallery, query_Q: np.ndarray, embedding_ND: np.ndarray, text: TextModel, *, count: int, seed: int
) -> list[Example]:
    """Draw seeded queries and search with each alone, with a word added, and with one of its own removed (METHOD.md 8).

    The words are drawn from those in the captions of 2–10% of the images: one in the query's captions and one not in
    them. A query without either is skipped.
    """
    model_tfidf_NV = tfidf(list(gallery.captions.values()), text.vocabulary)
    word_W = steering_words(model_tfidf_NV, text.stem_VD)
    random = np.random.default_rng(seed)

    def steered(row: int, weight: float, word: int) -> Floats:
        theta_D = text.stem_VD[word]
        score_N: Floats = embedding_ND @ steer(embedding_ND[row], [(weight, theta_D)])
        return score_N

    def examples() -> Iterator[Example]:
        for row in random.permutation(query_Q):
            own_W = np.isin(word_W, model_tfidf_NV[[row]].indices)
            if own_W.any() and not own_W.all():
                added, removed = random.choice(word_W[~own_W]), random.choice(word_W[own_W])
                scores = {
                    "image only": embedding_ND @ embedding_ND[row],
                    f"+ {text.vocabulary.words[added]}": steered(row, ADD, added),
                    f"- {text.vocabulary.words[removed]}": steered(row, -REMOVE, removed),
                }
                yield gallery.example(row, scores, STEERED_TOP)

    return list(islice(examples(), count))
