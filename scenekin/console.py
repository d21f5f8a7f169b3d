"""What commands print: results to standard output, notes to standard error."""

import json
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.metrics.formatting import format_metric

if TYPE_CHECKING:
    from scenekin.searcher import Searcher
    from storage.index.manifest import Manifest
    from tasks.search.words import Words

LOGGER = logging.getLogger("scenekin")
REFUSALS_SHOWN = 3
CAPTION_LENGTH = 60  # characters of a caption in a line of results


def configure_logging(verbose: bool = False, quiet: bool = False) -> None:
    """Log to standard error: warnings, with `verbose` also each step, with `quiet` errors alone and no progress."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s" if verbose else "%(message)s"))
    LOGGER.handlers = [handler]
    LOGGER.setLevel(logging.ERROR if quiet else logging.DEBUG if verbose else logging.WARNING)


def print_result(result: Mapping[str, Any], as_json: bool, text: str) -> None:
    """Print the result of a command: as JSON, or as text for people."""
    sys.stdout.write(f"{json.dumps(result) if as_json else text}\n")  # at once: a reader may stop after a part


def print_notes(words: "Words") -> None:
    """Print which words have no effect, and similar known words, to standard error."""
    for note in words.notes:
        LOGGER.warning("%s", note)


def problems_text(counts: Mapping[str, int]) -> list[str]:
    """A line with the number of problems of each kind that a collection has; none if it has no problems."""
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    return [f"  problems: {kinds}; `scenekin check` lists them"] if kinds else []


def score_text(model: float | None, baseline: float | None, chance: float | None) -> str:
    """A line that says what the score is and what it is compared with, for people who know no metric's name."""
    reached = [("this model", model), ("the best untrained baseline", baseline), ("chance", chance)]
    scores = ", ".join(f"{who} {format_metric(score)}" for who, score in reached if score is not None)
    return f"  Score (0-100: do images with similar captions come first?): {scores}"


def refusal_lines(refused: Sequence[Mapping[str, str]]) -> list[str]:
    """The first refused items with their reasons, and how many more there are; one line is never left out."""
    shown = len(refused) if len(refused) <= REFUSALS_SHOWN + 1 else REFUSALS_SHOWN
    lines = [f"  refused {refusal['item']}: {refusal['reason']}" for refusal in refused[:shown]]
    more = len(refused) - shown
    return [*lines, f"  and {more:,} more; --json lists all"] if more else lines


def short(path: Path) -> str:
    """A path relative to the current folder if it is below it."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def missing_images_text(manifest: "Manifest") -> list[str]:
    """A line that names the folder of an index's images if it does not exist any more."""
    from storage.index.images import images_are_missing  # noqa: PLC0415  few commands need it

    if not images_are_missing(manifest):
        return []
    return [
        f"The images of the index were in {manifest.images_root}, which no longer exists; if they were moved, "
        "run `scenekin index` with their new place and --moved."
    ]


def print_missing_images(manifest: "Manifest") -> None:
    """Warn of an index whose images are not where they were, so that the paths that a command prints do not exist."""
    for line in missing_images_text(manifest):
        LOGGER.warning("%s", line)


def image_text(searcher: "Searcher", image_id: str) -> str:
    """The path of an indexed image, its id if the path does not show it, and its caption, shortened."""
    location = searcher.location_of(image_id)
    shown = location if "://" in location else short(Path(location))
    parts = [shown if location.endswith(image_id) else f"{shown}  (id {image_id})"]
    if caption := searcher.caption_of(image_id):
        cut = caption if len(caption) <= CAPTION_LENGTH else f"{caption[: CAPTION_LENGTH - 3].rstrip()}..."
        parts.append(f'"{cut}"')
    return "  ".join(parts)


def model_and_index(searcher: "Searcher", top: int, recall: float) -> dict[str, Any]:
    """The model and index version that a search uses, with the measured recall of its `top` nearest images."""
    manifest = searcher.manifest
    return {
        "model": {"name": manifest.model.name, "version": manifest.model.version},
        "index": {
            "version": manifest.version,
            "images": manifest.images,
            "recall": searcher.effort(top, recall)[1],
        },
    }
