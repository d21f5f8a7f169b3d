"""Search for many images at once: results as rows of one Parquet file."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from scenekin.outputs import output_file
from scenekin.queries import Queries, Refused
from scenekin.searcher import RECALL, Searcher
from storage.tables import table_writer
from tasks.collection.parsing.text import printable
from tasks.embedding.embed import embed_images
from tasks.errors import InputError
from tasks.images.loader import Refusal
from tasks.model.device import choose_device
from tasks.progress import progress
from tasks.search.words import Words

AT_ONCE, RESULTS_AT_ONCE = 4096, 2**20  # that are embedded and ranked, and found, before they are written
BATCH = 32  # images that go through the network together
RESULTS = pa.schema(
    [
        ("query", pa.string()),
        ("rank", pa.int32()),
        ("image_id", pa.string()),
        ("path", pa.string()),
        ("score", pa.float32()),
    ]
)


@dataclass
class Bulk:
    """What became of the queries: listed = answered + refused."""

    listed: int
    refused: list[Refused]
    answered: int = 0


def search_files(
    searcher: Searcher, queries: Queries, out: Path, words: Words, top: int = 10, recall: float = RECALL
) -> Bulk:
    """The `top` nearest images of each file that can be read, moved by words, in the order of the list, into `out`.

    `out` is written whole or not at all. Raises InputError and OSError.
    """
    bulk = Bulk(len(queries.names) + len(queries.refused), list(queries.refused))
    with _writer(searcher, out) as write, progress("searching", len(queries.names)) as on_step:
        for part in _parts(len(queries.names), top):
            names = queries.names[part]
            embedding_D_of: dict[int, np.ndarray] = {}
            for outcome in _embedded(searcher, names, queries):
                if isinstance(outcome, Refusal):
                    bulk.refused.append({"item": printable(names[outcome.row]), "reason": outcome.reason})
                    on_step(1)
                    continue
                rows, embedding_BD = outcome
                embedding_D_of |= dict(zip(rows, embedding_BD.numpy(), strict=True))
                on_step(len(rows))
            answered = sorted(embedding_D_of)
            if answered:
                query_BD = np.stack([words.move(embedding_D_of[row]) for row in answered])
                write(_results(searcher, [names[row] for row in answered], query_BD, top, recall))
            bulk.answered += len(answered)
        if not bulk.answered:
            first = bulk.refused[0]
            raise InputError(f"None of {bulk.listed:,} queries can be used; {first['item']}: {first['reason']}.")
    return bulk


def search_index(searcher: Searcher, out: Path, words: Words, top: int = 10, recall: float = RECALL) -> Bulk:
    """The same with each image of the index as a query, from the vectors that are stored."""
    bulk = Bulk(searcher.manifest.images, [])
    with _writer(searcher, out) as write, progress("searching", bulk.listed) as on_step:
        for rows in _parts(bulk.listed, top):
            query_BD = np.stack([words.move(start_D) for start_D in searcher.embeddings_of(rows)])
            write(_results(searcher, searcher.image_ids[rows], query_BD, top, recall))
            bulk.answered += len(query_BD)
            on_step(len(query_BD))
    return bulk


def _parts(queries: int, top: int) -> Iterator[slice]:
    step = min(AT_ONCE, max(1, RESULTS_AT_ONCE // max(1, top)))
    return (slice(start, start + step) for start in range(0, queries, step))


def _embedded(
    searcher: Searcher, names: Sequence[str], queries: Queries
) -> Iterator[tuple[tuple[int, ...], torch.Tensor] | Refusal]:
    device, workers = choose_device("auto"), os.cpu_count() or 1
    return embed_images(searcher.model, names, queries.read, device=device, batch_size=BATCH, workers=workers)


@contextmanager
def _writer(searcher: Searcher, out: Path) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """Write batches of RESULTS; the file says which model and index answered."""
    manifest = searcher.manifest
    metadata = {
        "model": manifest.model.name,
        "model_version": str(manifest.model.version),
        "index": manifest.name,
        "index_version": str(manifest.version),
    }
    with output_file(out) as file, table_writer(file, RESULTS.with_metadata(metadata)) as write:
        yield write


def _results(searcher: Searcher, names: Sequence[str], query_BD: np.ndarray, top: int, recall: float) -> pa.RecordBatch:
    row_BT, score_BT = searcher.ranked(query_BD, top, recall)
    count, found = row_BT.shape
    rows = row_BT.reshape(-1).tolist()
    columns = [
        pa.array(names, pa.string()).take(pa.array(np.repeat(np.arange(count), found))),
        pa.array(np.tile(np.arange(1, found + 1), count), pa.int32()),
        pa.array([searcher.image_ids[row] for row in rows], pa.string()),
        pa.array([searcher.paths[row] for row in rows], pa.string()),
        pa.array(score_BT.reshape(-1), pa.float32()),
    ]
    return pa.record_batch(columns, schema=RESULTS)
