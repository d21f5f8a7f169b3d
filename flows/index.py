"""Index a collection."""

import time
from typing import Any

from flows.config import Config, registered_settings
from flows.results import IndexResult, ModelVersion
from flows.run import open_run
from flows.steps import read
from storage.artifacts import narrow
from storage.source.tree import Source
from tasks.collection.task import problem_counts
from tasks.embedding.task import embed_images
from tasks.registry.task import Registered, find_registered
from tasks.search.task import check_index, publish_index


def index(
    collection: str | None = None,
    name: str = "main",
    model: str = "champion",
    config: Config | None = None,
    workspace: str | None = None,
    images: str | None = None,
    format: str | None = None,
    allow_shrink: bool = False,
    moved: bool = False,
    rehash: bool = False,
    follow_links: bool = False,
    wait: bool = False,
) -> IndexResult:
    """Embed the new images of a collection and publish a version of its index.

    Without a collection, the demo's is used. `moved` accepts another place of the collection. `wait` waits for another
    process to release the workspace. Raises InputError and StorageError.
    """
    config = config or Config()
    started = time.monotonic()
    with open_run(
        "index",
        workspace=workspace,
        collection=collection,
        images=images,
        runtime=config.runtime,
        rehash=rehash,
        follow_links=follow_links,
        wait=wait,
    ) as run:
        columns = run.action(check_index, run.workspace, name, run.source, moved)
        registered = run.action(find_registered, run.workspace, model)
        config = config.with_missing_columns(columns or columns_of_training(registered, run.source))
        read_images = read(run, format, config)
        listed = narrow(run.workspace, read_images, "images.parquet")
        embedding = run(embed_images, listed, "images.parquet", registered.model)
        manifest = run.action(
            publish_index,
            run.workspace,
            name,
            read_images,
            embedding,
            registered,
            run.source,
            allow_shrink,
            moved,
            config.collection.columns,
            config.index,
        )
        counts = manifest.changes.model_dump(exclude_none=True)
        return IndexResult(
            index=manifest.model_dump(include={"name", "version", "images", "captioned"}) | counts,
            model=ModelVersion(name="scenekin", version=registered.version, aliases=registered.aliases),
            refused=[refusal.model_dump() for refusal in manifest.refused],
            problem_counts=problem_counts(run.workspace, read_images),
            seconds=round(time.monotonic() - started, 2),
            stages=run.reports,
        )


def columns_of_training(registered: Registered, source: Source) -> dict[str, Any]:
    """Return the columns that the model's training read its captions from, if it was trained on this collection."""
    if registered.collection != source.name:
        return {}
    return registered_settings(registered.version, registered.config).collection.columns
