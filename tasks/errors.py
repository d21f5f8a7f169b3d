"""The error for bad input, whose message is shown to users without a traceback."""


class InputError(ValueError):
    """Input that cannot be used; the message names the item and the remedy."""
