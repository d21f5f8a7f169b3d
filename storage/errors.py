"""The error that storage raises for people to read."""


class StorageError(RuntimeError):
    """The workspace or something in it cannot be used; the message names it and the remedy."""
