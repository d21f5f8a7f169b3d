"""index-flow: a collection to a searchable index."""

import time

from prefect import flow

from flows.config import Config
from flows.results import IndexResult, ModelVersion
from flows.run import open_run
from flows.steps import read
from storage.artifacts import narrow
from tasks.collection.task import problem_counts
from tasks.embedding.task import embed_images
from tasks.registry.task import find_registered
from tasks.search.task import check_index, publish_index


@flow(name="index-flow")
def index_flow(
    collection: str | None = None,
    name: str = "main",
    model: str = "champion",
    config: Config | None = None,
    workspace: str | None = None,
    images: str | None = None,
    format: str | None = None,
    allow_shrink: bool = False,
    rehash: bool = False,
) -> IndexResult:
    """Embed what is new and publish a version; without a collection, the demo's."""
    config = config or Config()
    started = time.monotonic()
    with open_run("index-flow", workspace, collection, images, config.runtime, rehash) as run:
        check_index(run.workspace, name, run.source)
        registered = find_registered(run.workspace, model)
        read_images = read(run, format, config)
        listed = narrow(run.workspace, read_images, "images.parquet")
        embedding = run(embed_images, listed, "images.parquet", registered.model)
        manifest = publish_index(
            run.workspace, name, read_images, embedding, registered, run.source, allow_shrink, config.index
        )
        counts = manifest.changes.model_dump()
        return IndexResult(
            index={"name": name, "version": manifest.version, "images": manifest.images, **counts},
            model=ModelVersion(name="scenekin", version=registered.version, aliases=registered.aliases),
            refused=[refusal.model_dump() for refusal in manifest.refused],
            problem_counts=problem_counts(run.workspace, read_images),
            seconds=round(time.monotonic() - started, 2),
            stages=run.reports,
        )
