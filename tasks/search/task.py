"""The task that publishes a version of an index."""

from contextlib import suppress
from typing import Any

from storage.artifacts import Artifact
from storage.errors import StorageError
from storage.index.manifest import Manifest
from storage.index.publish import check_owner
from storage.models import ModelRef, sound_model
from storage.source.tree import Source
from storage.workspace import Workspace
from tasks.model.config import NetworkConfig, load_config
from tasks.search.config import IndexConfig


def check_index(workspace: Workspace, name: str, source: Source, moved: bool) -> tuple[dict[str, Any], ModelRef | None]:
    """Check the request before any work, and return the columns of the index, and its model if that is untrained.

    Raises StorageError for a missing or another collection, or a bad name.
    """
    source.trees()  # a missing collection is reported first
    before = check_owner(workspace, name, source.address, moved)
    if before is None:
        return {}, None
    return before.columns, None if before.model.version else before.model.reference


def is_reusable(workspace: Workspace, model: ModelRef, networks: tuple[NetworkConfig, ...]) -> bool:
    """Return whether the untrained model of an index is intact and has these networks, with their published weights."""
    with suppress(StorageError):
        return load_config(sound_model(workspace, model)).networks == networks
    return False


def publish_index(
    workspace: Workspace,
    name: str,
    collection: Artifact,
    embedding: Artifact,
    version: int,
    model: ModelRef,
    source: Source,
    allow_shrink: bool,
    moved: bool,
    columns: dict[str, Any],
    config: IndexConfig,
) -> Manifest:
    """Publish images and embeddings as the current version of an index, then delete old versions.

    `version` is that of the registered model, 0 if it is not registered; `columns` are the settings that tables were
    read with. Every listed image is either indexed or refused. Raises StorageError.
    """
    from tasks.search.stage import publish_index as run_publication

    return run_publication(
        workspace, name, collection, embedding, version, model, source, allow_shrink, moved, columns, config
    )
