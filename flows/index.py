"""Index a collection."""

import time
from typing import Any

from flows.config import Config, registered_settings
from flows.results import IndexResult, ModelVersion, version_of
from flows.run import open_run
from flows.steps import read
from storage.artifacts import Artifact, narrow
from storage.models import ModelRef, keep_model
from storage.source.tree import Source
from tasks.caching import Runner
from tasks.collection.task import problem_counts
from tasks.embedding.task import embed_images
from tasks.features.task import features_of, weights_digest
from tasks.registry.task import Registered, candidate_model, find_registered
from tasks.search.task import check_index, is_reusable, publish_index
from tasks.training.config import BLOCKS
from tasks.training.task import fit_untrained

UNTRAINED = ModelVersion(name="scenekin", version=0)  # of a model that is not registered


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
    untrained: bool = False,
) -> IndexResult:
    """Embed the new images of a collection and publish a version of its index.

    Without a collection, the demo's is used. `moved` accepts another place of the collection. `wait` waits for another
    process to release the workspace. `untrained` needs no captions and no model: the index uses the networks' own
    features, centred on the collection when it is first indexed so. Raises InputError and StorageError.
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
        new=untrained,
    ) as run:
        columns, before = run.action(check_index, run.workspace, name, run.source, moved)
        registered = None if untrained else run.action(find_registered, run.workspace, model)
        config = config.with_missing_columns(columns or columns_of_training(registered, run.source))
        read_images = read(run, format, config)
        listed = narrow(run.workspace, read_images, "images.parquet")
        used = UNTRAINED if registered is None else version_of(registered)
        network = registered.model if registered else untrained_model(run, listed, before, config)
        embedding = run(embed_images, listed, "images.parquet", network)
        made = read_images, embedding, used.version, network, run.source
        manifest = run.action(
            publish_index, run.workspace, name, *made, allow_shrink, moved, config.collection.columns, config.index
        )
        counts = manifest.changes.model_dump(exclude_none=True)
        return IndexResult(
            index=manifest.model_dump(include={"name", "version", "images", "captioned"}) | counts,
            model=used,
            refused=[refusal.model_dump() for refusal in manifest.refused],
            problem_counts=problem_counts(run.workspace, read_images),
            seconds=round(time.monotonic() - started, 2),
            stages=run.reports,
        )


def untrained_model(run: Runner, listed: Artifact, before: ModelRef | None, config: Config) -> ModelRef:
    """Return the model of the index if that is untrained with these networks, else one centred on the collection."""
    described = features_of(config.backbone, (BLOCKS,))
    networks = tuple(each.network for each in described)
    if before is not None and is_reusable(run.workspace, before, networks):
        return before
    weights = tuple(weights_digest(network.backbone) for network in networks)
    fitted = run(fit_untrained, listed, networks, weights)
    return run.action(keep_model, run.workspace, candidate_model(run.workspace, fitted))


def columns_of_training(registered: Registered | None, source: Source) -> dict[str, Any]:
    """Return the columns that the model's training read its captions from, if it was trained on this collection."""
    if registered is None or registered.collection != source.name:
        return {}
    return registered_settings(registered.version, registered.config).collection.columns
