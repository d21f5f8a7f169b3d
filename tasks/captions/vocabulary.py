"""The vocabulary: stems of the training captions and the number of images that have each (METHOD.md 2)."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from tasks.captions.stems import count_stems, count_words, stem


@dataclass(frozen=True)
class Vocabulary:
    """Sorted stems, the most frequent word and the document frequency of each, and N, the number of images."""

    language: str
    documents: int
    stems: tuple[str, ...]
    words: tuple[str, ...]
    document_frequency_V: np.ndarray

    @cached_property
    def index(self) -> dict[str, int]:
        """Column by stem."""
        return {stem: column for column, stem in enumerate(self.stems)}

    @cached_property
    def idf_V(self) -> np.ndarray:
        """ln(N / df)."""
        idf_V: np.ndarray = np.log(self.documents / self.document_frequency_V)
        return idf_V


def build_vocabulary(captions_N: Sequence[Sequence[str]], language: str) -> Vocabulary:
    """Build the vocabulary of N images' captions, without stop list or minimum frequency."""
    surface: dict[str, Counter[str]] = defaultdict(Counter)
    frequency: Counter[str] = Counter()
    for captions in captions_N:
        words = count_words(captions)
        for word, count in words.items():
            surface[stem(word, language)][word] += count
        frequency.update(count_stems(words, language).keys())
    stems = tuple(sorted(frequency))
    return Vocabulary(
        language=language,
        documents=len(captions_N),
        stems=stems,
        words=tuple(min(surface[stem], key=lambda word: (-surface[stem][word], word)) for stem in stems),
        document_frequency_V=np.array([frequency[stem] for stem in stems], dtype=np.int64),
    )


def vocabulary_table(vocabulary: Vocabulary) -> pa.Table:
    """Return the table of stem, word, index, document_frequency and idf, with language and N in its metadata."""
    table = pa.table(
        {
            "stem": pa.array(vocabulary.stems, pa.string()),
            "word": pa.array(vocabulary.words, pa.string()),
            "index": pa.array(range(len(vocabulary.stems)), pa.int32()),
            "document_frequency": pa.array(vocabulary.document_frequency_V),
            "idf": pa.array(vocabulary.idf_V),
        }
    )
    return table.replace_schema_metadata({"language": vocabulary.language, "documents": str(vocabulary.documents)})


def vocabulary_from(table: pa.Table) -> Vocabulary:
    """Return the vocabulary; the inverse of `vocabulary_table`."""
    metadata = table.schema.metadata
    return Vocabulary(
        language=metadata[b"language"].decode(),
        documents=int(metadata[b"documents"]),
        stems=tuple(table["stem"].to_pylist()),
        words=tuple(table["word"].to_pylist()),
        document_frequency_V=table["document_frequency"].to_numpy(),
    )
