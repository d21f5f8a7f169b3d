"""The errors that end a run with a sentence for people instead of a traceback."""

from storage.errors import StorageError
from tasks.errors import InputError

EXPECTED = (InputError, StorageError, FloatingPointError, OSError)
