"""The work of the stage `neighbours`, on a Dask cluster if the collection is large."""

from collections.abc import Iterator
from contextlib import contextmanager

from distributed import Client

from storage.artifacts import Artifact
from storage.settings import Settings
from storage.tables import read_table, write_table
from tasks.caching import Runtime, StageRun
from tasks.captions.tfidf import tfidf_from
from tasks.progress import progress
from tasks.surrogate.config import SurrogateConfig
from tasks.surrogate.neighbours import nearest_neighbours, neighbour_count, neighbour_table

CLUSTER_FROM = 20_000  # images; fewer take less time than starting a local cluster


def find(run: StageRun, vocabulary: Artifact, config: SurrogateConfig) -> None:
    """Find the relevant images of each training image by tf-idf (METHOD.md 2) → neighbours.parquet."""
    table = read_table(run.open(vocabulary) / "tfidf.parquet")
    with (
        dask_client(run.runtime, table.num_rows) as client,
        progress("neighbours", table.num_rows) as on_step,
    ):
        index_NK, similarity_NK = nearest_neighbours(
            tfidf_from(table),
            neighbour_count(table.num_rows, config.neighbours),
            copies=table["copy_group"].to_numpy(),
            client=client,
            block_rows=run.runtime.block_size,
            on_step=on_step,
        )
    write_table(run.folder / "neighbours.parquet", neighbour_table(table["image_id"], index_NK, similarity_NK))


@contextmanager
def dask_client(runtime: Runtime, images: int) -> Iterator[Client | None]:
    """Connect to SCENEKIN_DASK_ADDRESS, or start a local cluster if there are many images; else yield None."""
    address = Settings().dask_address
    if not runtime.dask or (address is None and (runtime.workers < 2 or images < CLUSTER_FROM)):
        yield None
        return
    local = {"n_workers": runtime.workers, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with Client(address, **({} if address else local)) as client:
        yield client
