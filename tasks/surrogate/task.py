"""The stage that finds the nearest neighbours by caption similarity, through Dask."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from storage.artifacts import Artifact
from storage.settings import Settings
from storage.tables import read_table, write_table
from tasks.caching import Runtime, StageRun, stage
from tasks.progress import progress
from tasks.surrogate.config import SurrogateConfig

if TYPE_CHECKING:
    from distributed import Client

CLUSTER_FROM = 20_000  # images; below, the answer is there before a local cluster has started


@stage("neighbours", libraries=("scipy", "sparse-dot-topn"))
def find_neighbours(run: StageRun, vocabulary: Artifact, config: SurrogateConfig) -> None:
    """tf-idf of the train images → neighbours.parquet: the relevant images of each (METHOD.md 2)."""
    from tasks.captions.tfidf import tfidf_from
    from tasks.surrogate.neighbours import nearest_neighbours, neighbour_count, neighbour_table

    table = read_table(run.open(vocabulary) / "tfidf.parquet")
    k = neighbour_count(table.num_rows, config.neighbours)
    with (
        dask_client(run.runtime, table.num_rows) as client,
        progress("neighbours", table.num_rows) as on_step,
    ):
        index_NK, similarity_NK = nearest_neighbours(
            tfidf_from(table),
            k,
            copies=table["copy_group"].to_numpy(),
            client=client,
            block_rows=run.runtime.block_size,
            on_step=on_step,
        )
    write_table(run.folder / "neighbours.parquet", neighbour_table(table["image_id"], index_NK, similarity_NK))


@contextmanager
def dask_client(runtime: Runtime, images: int) -> "Iterator[Client | None]":
    """A client of SCENEKIN_DASK_ADDRESS, else of a local cluster where the work is worth starting one."""
    address = Settings().dask_address
    if not runtime.dask or (address is None and (runtime.workers < 2 or images < CLUSTER_FROM)):
        yield None
        return
    from distributed import Client

    local = {"n_workers": runtime.workers, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with Client(address, **({} if address else local)) as client:
        yield client
