"""What commands print."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.metrics.formatting import format_figure

if TYPE_CHECKING:
    from scenekin.searcher import Searcher
    from tasks.search.words import Words


def interval_text(interval: Sequence[float] | None) -> str:
    """In brackets, nothing where undefined."""
    return "({}–{})".format(*map(format_figure, interval)) if interval is not None else ""


def problems_text(counts: dict[str, int]) -> list[str]:
    """Of a collection's problems how many there are of each kind."""
    told = ", ".join(f"{kind} {count:,}" for kind, count in counts.items())
    return [f"  of the collection: {told}; `scenekin check` names them"] if told else []


def short(path: Path) -> str:
    """A path as people would type it here."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def say(answer: dict[str, Any], as_json: bool, text: str) -> None:
    """The one answer of a command: JSON, or text for people."""
    print(json.dumps(answer) if as_json else text)


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
