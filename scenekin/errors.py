"""Errors that scenekin raises for callers to handle; each message names the item and the remedy."""

from storage.errors import StorageError
from tasks.errors import InputError

__all__ = ["InputError", "MissingImage", "NoTextModel", "StorageError"]


class MissingImage(InputError):
    """The index has no image of that id, or its file is missing or has changed since it was indexed."""


class NoTextModel(InputError):
    """The model of the index embeds images only, so text cannot be searched for or added to a query."""
