"""tf-idf vectors of captions (METHOD.md 2): count × ln(N / df), unit length."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from tasks.captions.stems import count_stems, count_words
from tasks.captions.vocabulary import Vocabulary


def tfidf(captions_N: Sequence[Sequence[str]], vocabulary: Vocabulary) -> csr_array:
    """Return tfidf_NV, float64, with rows of unit length; a row without any weighted stem is empty."""
    columns: list[int] = []
    weights: list[float] = []
    starts = [0]
    for captions in captions_N:
        stems = count_stems(count_words(captions), vocabulary.language)
        known = sorted((vocabulary.index[stem], count) for stem, count in stems.items() if stem in vocabulary.index)
        weighted = [(column, count * vocabulary.idf_V[column]) for column, count in known]
        weighted = [(column, weight) for column, weight in weighted if weight > 0]
        length = float(np.sqrt(sum(weight * weight for _, weight in weighted))) or 1.0
        columns += [column for column, _ in weighted]
        weights += [weight / length for _, weight in weighted]
        starts.append(len(columns))
    shape = (len(captions_N), len(vocabulary.stems))
    return csr_array((np.array(weights), np.array(columns, np.int32), np.array(starts, np.int64)), shape=shape)


def tfidf_table(image_ids: Sequence[str], tfidf_NV: csr_array) -> pa.Table:
    """Return the table of image_id, columns list<int32> and weights list<double>, with V in its metadata."""
    offsets = pa.array(tfidf_NV.indptr, pa.int32())
    return pa.table(
        {
            "image_id": pa.array(image_ids, pa.string()),
            "columns": pa.ListArray.from_arrays(offsets, pa.array(tfidf_NV.indices, pa.int32())),
            "weights": pa.ListArray.from_arrays(offsets, pa.array(tfidf_NV.data, pa.float64())),
        }
    ).replace_schema_metadata({"stems": str(tfidf_NV.shape[1])})


def tfidf_from(table: pa.Table) -> csr_array:
    """Return tfidf_NV; the inverse of `tfidf_table`."""
    columns = table["columns"].combine_chunks()
    weights = table["weights"].combine_chunks()
    starts = np.concatenate([[0], np.cumsum(columns.value_lengths().to_numpy(zero_copy_only=False))])
    shape = (table.num_rows, int(table.schema.metadata[b"stems"]))
    return csr_array((weights.flatten().to_numpy(), columns.flatten().to_numpy(), starts), shape=shape)
