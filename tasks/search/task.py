"""The task that publishes a version of an index."""

from storage.artifacts import Artifact
from storage.index.manifest import Manifest
from storage.index.publish import check_owner
from storage.registry import Registered
from storage.source.tree import Source
from storage.workspace import Workspace
from tasks.search.config import IndexConfig


def check_index(workspace: Workspace, name: str, source: Source, moved: bool) -> None:
    """Check the request before any work. Raises StorageError for a missing or another collection, or a bad name."""
    source.trees()  # a missing collection is reported first
    check_owner(workspace, name, source.address, moved)


def publish_index(
    workspace: Workspace,
    name: str,
    collection: Artifact,
    embedding: Artifact,
    registered: Registered,
    source: Source,
    allow_shrink: bool,
    moved: bool,
    config: IndexConfig,
) -> Manifest:
    """Publish images and embeddings as the current version of an index, then delete old versions.

    Every listed image is either indexed or refused. Raises StorageError.
    """
    from tasks.search.stage import publish_index as run_publication

    return run_publication(workspace, name, collection, embedding, registered, source, allow_shrink, moved, config)
