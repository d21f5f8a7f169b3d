"""The error of everything at rest that a person may read."""


class StorageError(RuntimeError):
    """The workspace or something in it cannot be used; the message names it and says what to do."""
