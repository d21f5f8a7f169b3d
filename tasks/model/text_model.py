"""The text embedding of a model: captions and words in the space of its images (METHOD.md 4, 8, 9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from safetensors import SafetensorError
from safetensors.numpy import load_file
from safetensors.numpy import save as to_bytes

from tasks.captions.stems import stem, tokenise
from tasks.captions.tfidf import tfidf
from tasks.captions.vocabulary import Vocabulary, vocabulary_from
from tasks.errors import InputError
from tasks.model.persistence import VOCABULARY

TEXT = "text.safetensors"
SUGGESTIONS = 3
SIMILAR_SPELLING = 0.75  # least ratio of difflib; 'yellow' for 'xylo' has 0.6


@dataclass(frozen=True)
class TextModel:
    """The vocabulary, and text_VT, which maps a tf-idf vector to the images' space.

    If the images' first coordinate is their certainty, `certainty` is the one that words get, and D is 1 + T.
    """

    vocabulary: Vocabulary
    text_VT: np.ndarray
    certainty: float | None = None

    def embed(self, phrase: str, *, wanted: bool = True) -> np.ndarray | None:
        """Compute θ_D = normalise(tf-idf · text_VT), or None if no word of the phrase has a weight.

        An unwanted phrase gets no certainty: an image that the model is unsure of may well show what it names.
        """
        theta_D: np.ndarray = self.embed_bags([[phrase]], wanted=wanted)[0]
        return theta_D if theta_D.any() else None

    def embed_bags(self, captions_N: Sequence[Sequence[str]], *, wanted: bool = True) -> np.ndarray:
        """Compute θ_ND of each image's captions as one bag: unit length, or 0 if no word of them has a weight."""
        return self._theta(tfidf(captions_N, self.vocabulary) @ self.text_VT, wanted)

    @cached_property
    def stem_VD(self) -> np.ndarray:
        """θ of each stem alone: unit length, or 0 if its row of text_VT is 0."""
        return self._theta(self.text_VT, wanted=True)

    def _theta(self, summed_NT: np.ndarray, wanted: bool) -> np.ndarray:
        """Compute normalise(t), or normalise([certainty, normalise(t)]) if images have a certainty."""
        theta_ND = _unit(summed_NT.astype(np.float32))
        if self.certainty is None:
            return theta_ND
        certainty_N1 = np.where(theta_ND.any(axis=1, keepdims=True), np.float32(self.certainty if wanted else 0), 0)
        return _unit(np.hstack([certainty_N1, theta_ND]))

    def unknown(self, phrase: str) -> list[str]:
        """Return the words of a phrase that occur in no training caption."""
        return [word for word in tokenise(phrase) if stem(word, self.vocabulary.language) not in self.vocabulary.index]

    def complete(self, prefix: str, top: int) -> list[tuple[str, int]]:
        """Return completions of the last word of a text, with the number of training images that use each.

        Words that begin with it come first, ordered by their information over all images (df · idf); if there are fewer
        than SUGGESTIONS, words of similar spelling follow.
        """
        last = tokenise(prefix)[-1:]
        if not last:
            return []
        frequency_V = self.vocabulary.document_frequency_V
        weight_V = frequency_V * self.vocabulary.idf_V
        column_of = {word: column for column, word in enumerate(self.vocabulary.words) if weight_V[column] > 0}
        words = sorted(
            (word for word in column_of if word.startswith(last[0])),
            key=lambda word: (-weight_V[column_of[word]], word),
        )
        if len(words) < SUGGESTIONS:
            words += [word for word in self.suggest(last[0]) if word in column_of and word not in words]
        return [(word, int(frequency_V[column_of[word]])) for word in words[:top]]

    def suggest(self, word: str) -> list[str]:
        """Return known words of similar spelling, most similar first."""
        return get_close_matches(word, self.vocabulary.words, SUGGESTIONS, SIMILAR_SPELLING)


def _unit(value_NT: np.ndarray) -> np.ndarray:
    length_N1 = np.linalg.norm(value_NT, axis=1, keepdims=True)
    unit_NT: np.ndarray = np.divide(value_NT, length_N1, out=np.zeros_like(value_NT), where=length_N1 > 0)
    return unit_NT


def save_text(text_VT: np.ndarray, folder: Path, certainty: float | None = None) -> None:
    """Write the text embedding into a model's folder, in float16."""
    scalars = {} if certainty is None else {"certainty": np.array(certainty)}
    tensors = {"text_VT": np.ascontiguousarray(text_VT, np.float16), **scalars}
    (folder / TEXT).write_bytes(to_bytes(tensors))  # raises OSError if the disk is full, unlike save_file


def load_text(folder: Path) -> TextModel | None:
    """Load the text embedding of a model folder, None if it has none. Raises InputError if it is damaged."""
    if not (folder / TEXT).exists():
        return None
    try:
        tensors = load_file(folder / TEXT)
        certainty = float(tensors["certainty"]) if "certainty" in tensors else None
        vocabulary = vocabulary_from(pq.read_table(folder / VOCABULARY))
        return TextModel(vocabulary, tensors["text_VT"].astype(np.float32), certainty)
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise InputError(
            f"The text embedding of the model in {folder} cannot be loaded ({type(error).__name__}); "
            "train it again and index with the new version, the challenger."
        ) from error
