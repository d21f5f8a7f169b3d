"""Words in the space of the images: the text embedding of a joint model (METHOD.md 4, 8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from tasks.captions.stems import count_stems, count_words, stem, tokenise
from tasks.captions.tfidf import tfidf
from tasks.captions.vocabulary import Vocabulary, vocabulary_from
from tasks.errors import InputError
from tasks.model.folder import VOCABULARY

TEXT = "text.safetensors"
SUGGESTIONS = 3


@dataclass(frozen=True)
class TextModel:
    """The vocabulary, and text_VD that takes a tf-idf vector to the images' space."""

    vocabulary: Vocabulary
    text_VD: np.ndarray

    def embed(self, phrase: str) -> np.ndarray | None:
        """embedding_D, unit length: θ = normalise(tf-idf · text_VD); None where no word of the phrase has a weight."""
        embedding_D: np.ndarray = self.embed_bags([[phrase]])[0]
        return embedding_D if embedding_D.any() else None

    def embed_bags(self, captions_N: Sequence[Sequence[str]]) -> np.ndarray:
        """embedding_ND: θ of each image's captions as one bag, unit length, 0 where no word of them has a weight."""
        summed_ND: np.ndarray = (tfidf(captions_N, self.vocabulary) @ self.text_VD).astype(np.float32)
        length_N1 = np.linalg.norm(summed_ND, axis=1, keepdims=True)
        embedding_ND: np.ndarray = np.divide(summed_ND, length_N1, out=np.zeros_like(summed_ND), where=length_N1 > 0)
        return embedding_ND

    def stems(self, phrase: str) -> dict[str, int]:
        """The phrase as captions are read: stems with their counts."""
        return dict(count_stems(count_words([phrase]), self.vocabulary.language))

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
        return get_close_matches(word, self.vocabulary.words, SUGGESTIONS)


def save_text(text_VD: np.ndarray, folder: Path) -> None:
    """Write the text embedding beside a model, in float16."""
    save_file({"text_VD": np.ascontiguousarray(text_VD, np.float16)}, folder / TEXT)


def load_text(folder: Path) -> TextModel | None:
    """The text embedding of a model folder, None where it has none. Raises InputError where it is damaged."""
    if not (folder / TEXT).exists():
        return None
    try:
        text_VD = load_file(folder / TEXT)["text_VD"].astype(np.float32)
        return TextModel(vocabulary_from(pq.read_table(folder / VOCABULARY)), text_VD)
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise InputError(f"The words of the model in {folder} cannot be loaded ({type(error).__name__}).") from error
