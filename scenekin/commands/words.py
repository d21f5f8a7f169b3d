"""What the commands that search say of an index and of words."""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scenekin.searcher import Searcher
    from tasks.search.words import Words


def versions(searcher: "Searcher", top: int, recall: float) -> dict[str, Any]:
    """Which model and which index answer, and the measured share of the `top` nearest that a search finds."""
    manifest = searcher.manifest
    return {
        "model": {"name": manifest.model.name, "version": manifest.model.version},
        "index": {
            "version": manifest.version,
            "images": manifest.images,
            "recall": searcher.effort(top, recall)[1],
        },
    }


def tell_words(words: "Words") -> None:
    """Say on standard error which words do nothing, and which are spelled like them."""
    for note in words.notes:
        print(note, file=sys.stderr)
