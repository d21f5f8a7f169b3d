"""The error for bad input."""


class InputError(ValueError):
    """The input cannot be used; the message is one sentence that names the item and the remedy."""
