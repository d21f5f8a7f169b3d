"""The task that publishes a version of an index."""

from typing import Any

from storage.artifacts import Artifact
from storage.index.manifest import Manifest
from storage.index.publish import check_owner
from storage.registry import Registered
from storage.source.tree import Source
from storage.workspace import Workspace
from tasks.search.config import IndexConfig


def check_index(workspace: Workspace, name: str, source: Source, moved: bool) -> dict[str, Any]:
    """Check the request before any work, and return the columns that the index was made with, if any.

    Raises StorageError for a missing or another collection, or a bad name.
    """
    source.trees()  # a missing collection is reported first
    before = check_owner(workspace, name, source.address, moved)
    return {} if before is None else before.columns


def publish_index(
    workspace: Workspace,
    name: str,
    collection: Artifact,
    embedding: Artifact,
    registered: Registered,
    source: Source,
    allow_shrink: bool,
    moved: bool,
    columns: dict[str, Any],
    config: IndexConfig,
) -> Manifest:
    """Publish images and embeddings as the current version of an index, then delete old versions.

    `columns` are the settings that tables were read with. Every listed image is either indexed or refused. Raises
    StorageError.
    """
    from tasks.search.stage import publish_index as run_publication

    return run_publication(
        workspace, name, collection, embedding, registered, source, allow_shrink, moved, columns, config
    )
