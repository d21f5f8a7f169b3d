"""Search for many images at once; the results go into one file."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from scenekin.contact_sheet import ReadQuery, check_sheet
from scenekin.queries import Queries, RefusedQuery
from scenekin.result_files import RESULTS, results_writer
from scenekin.searcher import RECALL, Query, Searcher
from tasks.collection.parsing.text import printable
from tasks.embedding.embed import embed_images
from tasks.errors import InputError
from tasks.images.loader import Refusal
from tasks.model.device import choose_device
from tasks.progress import progress
from tasks.search.words import Words

QUERIES_AT_ONCE, RESULTS_AT_ONCE = 4096, 2**20  # embedded and ranked together; ranked before they are written
NAME_LENGTH = 200  # characters of a query's name in an error
BATCH = 32  # images per pass of the network


@dataclass
class BatchOutcome:
    """Counts of a batch search: listed = answered + refused."""

    listed: int
    refused: list[RefusedQuery]
    answered: int = 0


def search_files(
    searcher: Searcher, queries: Queries, out: Path, words: Words, top: int = 10, recall: float = RECALL
) -> BatchOutcome:
    """Search for each readable file of a list, steered by words; write the results to `out` in the list's order.

    `out` is written completely or not at all. Raises InputError.
    """
    _check_sheet(out, len(queries.names), top)
    outcome = BatchOutcome(len(queries.names) + len(queries.refused), list(queries.refused))
    with (
        results_writer(searcher, out, words, queries.read) as write,
        progress("searching", len(queries.names)) as on_step,
    ):
        for part in _parts(len(queries.names), top):
            names = queries.names[part]
            embedding_D_of: dict[int, np.ndarray] = {}
            for embedded in _embed(searcher, names, queries):
                if isinstance(embedded, Refusal):
                    outcome.refused.append({"item": printable(names[embedded.row]), "reason": embedded.reason})
                    on_step(1)
                    continue
                rows, embedding_BD = embedded
                embedding_D_of |= dict(zip(rows, embedding_BD.numpy(), strict=True))
                on_step(len(rows))
            answered = sorted(embedding_D_of)
            if answered:
                query_BD = np.stack([words.steer(embedding_D_of[row]) for row in answered])
                write(_results(searcher, [names[row] for row in answered], query_BD, top, recall))
            outcome.answered += len(answered)
        if not outcome.answered:
            first, more = outcome.refused[0], outcome.listed - 1
            others = f" (and {more:,} more)" if more else ""
            raise InputError(f"No usable query: {first['item'][:NAME_LENGTH]}: {first['reason']}{others}.")
    return outcome


def search_index(searcher: Searcher, out: Path, words: Words, top: int = 10, recall: float = RECALL) -> BatchOutcome:
    """Search for each image of the index, by the stored vectors; otherwise as `search_files`."""
    outcome = BatchOutcome(searcher.manifest.images, [])
    _check_sheet(out, outcome.listed, top)
    with (
        results_writer(searcher, out, words, searcher.read_indexed) as write,
        progress("searching", outcome.listed) as on_step,
    ):
        for rows in _parts(outcome.listed, top):
            query_BD = np.stack([words.steer(start_D) for start_D in searcher.embeddings_of(rows)])
            write(_results(searcher, searcher.image_ids[rows], query_BD, top, recall))
            outcome.answered += len(query_BD)
            on_step(len(query_BD))
    return outcome


def search_one(
    searcher: Searcher, query: Query, name: str, read: ReadQuery, out: Path, top: int = 10, recall: float = RECALL
) -> BatchOutcome:
    """Search for a single query, named as it appears in the results; otherwise as `search_files`."""
    _check_sheet(out, 1, top)
    with results_writer(searcher, out, query, read) as write:
        write(_results(searcher, [name], query.embedding_D[None], top, recall))
    return BatchOutcome(1, [], 1)


def _check_sheet(out: Path, queries: int, top: int) -> None:
    check_sheet(out, queries * (top + 1), "use fewer queries or results")


def _parts(queries: int, top: int) -> Iterator[slice]:
    step = min(QUERIES_AT_ONCE, max(1, RESULTS_AT_ONCE // max(1, top)))
    return (slice(start, start + step) for start in range(0, queries, step))


def _embed(
    searcher: Searcher, names: Sequence[str], queries: Queries
) -> Iterator[tuple[tuple[int, ...], torch.Tensor] | Refusal]:
    device, workers = choose_device("auto"), os.cpu_count() or 1
    return embed_images(searcher.model, names, queries.read, device=device, batch_size=BATCH, workers=workers)


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
        searcher.captions_of(row_BT.reshape(-1)),
    ]
    return pa.record_batch(columns, schema=RESULTS)
