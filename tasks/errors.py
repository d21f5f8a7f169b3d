"""The error that a person may read: bad input, said in one sentence."""


class InputError(ValueError):
    """What was given cannot be used; the message names the item and says what to do."""
