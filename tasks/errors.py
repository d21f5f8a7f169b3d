"""The errors for bad input, whose messages are shown to users without a traceback."""


class InputError(ValueError):
    """Input that cannot be used; the message names the item and the remedy."""


class InvalidOption(InputError):
    """An option or setting with a value that is never allowed, whatever the files contain."""
