"""Words in the space of the images: the text embedding of a joint model (METHOD.md 4, 8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from tasks.captions.stems import stem, tokenise
from tasks.captions.tfidf import tfidf
from tasks.captions.vocabulary import Vocabulary, vocabulary_from
from tasks.errors import InputError
from tasks.model.persistence import VOCABULARY

TEXT = "text.safetensors"
SUGGESTIONS, MIN_RATIO = 3, 0.75  # of similarly spelled words; their least similarity, as difflib defines it


@dataclass(frozen=True)
class TextModel:
    """The vocabulary, and text_VT that takes a tf-idf vector to the images' space.

    Where images have a certainty as their first coordinate, `certainty` is what words ask for of it, and D is 1 + T.
    """

    vocabulary: Vocabulary
    text_VT: np.ndarray
    certainty: float | None = None

    def embed(self, phrase: str, *, wanted: bool = True) -> np.ndarray | None:
        """θ_D, unit length, of tf-idf · text_VT; None where no word of the phrase has a weight.

        An unwanted phrase asks for no certainty: an image that the model is unsure of may well show what it names.
        """
        theta_D: np.ndarray = self.embed_bags([[phrase]], wanted=wanted)[0]
        return theta_D if theta_D.any() else None

    def embed_bags(self, captions_N: Sequence[Sequence[str]], *, wanted: bool = True) -> np.ndarray:
        """θ_ND of each image's captions as one bag, unit length, 0 where no word of them has a weight."""
        return self._theta(tfidf(captions_N, self.vocabulary) @ self.text_VT, wanted)

    @cached_property
    def stem_VD(self) -> np.ndarray:
        """θ of each stem alone, unit length, 0 where it has no place."""
        return self._theta(self.text_VT, wanted=True)

    def _theta(self, summed_NT: np.ndarray, wanted: bool) -> np.ndarray:
        """normalise(t), and where images have a certainty normalise([certainty, normalise(t)])."""
        theta_ND = _unit(summed_NT.astype(np.float32))
        if self.certainty is None:
            return theta_ND
        asked_N1 = np.where(theta_ND.any(axis=1, keepdims=True), np.float32(self.certainty if wanted else 0), 0)
        return _unit(np.hstack([asked_N1, theta_ND]))

    def unknown(self, phrase: str) -> list[str]:
        """The words of a phrase that no caption had."""
        return [word for word in tokenise(phrase) if stem(word, self.vocabulary.language) not in self.vocabulary.index]

    def complete(self, prefix: str, top: int) -> list[tuple[str, int]]:
        """Known words that the last word of a text may become, with the images that use each.

        Those that begin with it come first, by how much they tell over all images (df · idf); words that are spelled
        like it follow where fewer than SUGGESTIONS begin with it.
        """
        begun = tokenise(prefix)[-1:]
        if not begun:
            return []
        frequency_V = self.vocabulary.document_frequency_V
        told_V = frequency_V * self.vocabulary.idf_V
        column_of = {word: column for column, word in enumerate(self.vocabulary.words) if told_V[column] > 0}
        words = sorted(
            (word for word in column_of if word.startswith(begun[0])), key=lambda word: (-told_V[column_of[word]], word)
        )
        if len(words) < SUGGESTIONS:
            words += [word for word in self.near(begun[0]) if word in column_of and word not in words]
        return [(word, int(frequency_V[column_of[word]])) for word in words[:top]]

    def near(self, word: str) -> list[str]:
        """Known words that are spelled like this one."""
        return get_close_matches(word, self.vocabulary.words, SUGGESTIONS, MIN_RATIO)


def _unit(value_NT: np.ndarray) -> np.ndarray:
    length_N1 = np.linalg.norm(value_NT, axis=1, keepdims=True)
    unit_NT: np.ndarray = np.divide(value_NT, length_N1, out=np.zeros_like(value_NT), where=length_N1 > 0)
    return unit_NT


def save_text(text_VT: np.ndarray, folder: Path, certainty: float | None = None) -> None:
    """Write the text embedding beside a model, in float16."""
    asked = {} if certainty is None else {"certainty": np.array(certainty)}
    save_file({"text_VT": np.ascontiguousarray(text_VT, np.float16), **asked}, folder / TEXT)


def load_text(folder: Path) -> TextModel | None:
    """The text embedding of a model folder, None where it has none. Raises InputError where it is damaged."""
    if not (folder / TEXT).exists():
        return None
    try:
        tensors = load_file(folder / TEXT)
        certainty = float(tensors["certainty"]) if "certainty" in tensors else None
        vocabulary = vocabulary_from(pq.read_table(folder / VOCABULARY))
        return TextModel(vocabulary, tensors["text_VT"].astype(np.float32), certainty)
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise InputError(
            f"The words of the model in {folder} cannot be loaded ({type(error).__name__}); "
            "train it again, and take that one by --model challenger."
        ) from error
