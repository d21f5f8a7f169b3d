"""The errors that storage raises for people to read."""


class StorageError(RuntimeError):
    """The workspace or something in it cannot be used; the message names it and the remedy."""


class WorkspaceError(StorageError):
    """The workspace is missing or cannot be written."""


class InvalidName(StorageError):
    """A name that no index can have."""


class NoChampion(StorageError):
    """Models are registered, but none is the champion."""


class WorkspaceInUse(StorageError):
    """Another process is writing into the workspace."""
