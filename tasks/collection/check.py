"""Summarises a collection and its problems, for programs and for people."""

from collections import Counter, defaultdict
from dataclasses import asdict
from typing import Any

from tasks.collection.assemble import Collection
from tasks.collection.records import SPLITS, Problem
from tasks.collection.splits import EVALUATE_ON, LEARN_FROM
from tasks.phrases import counted

EXAMPLES = 3
TOO_FEW = f"Not enough to train: at least {LEARN_FROM} training and {EVALUATE_ON} validation images need captions."


def is_trainable(collection: Collection) -> bool:
    """Return whether enough training and validation images have captions."""
    captioned = Counter(image.split for image in collection.images if image.captions)
    return captioned["train"] >= LEARN_FROM and captioned["validation"] >= EVALUATE_ON


def summary(collection: Collection) -> dict[str, Any]:
    """Return the JSON object of `scenekin check`; `images` counts all that are listed, `captions` those in use."""
    splits = Counter(image.split for image in collection.images)
    return {
        "format": collection.format,
        "images": collection.listed,
        "usable": len(collection.images),
        "with_captions": sum(bool(image.captions) for image in collection.images),
        "captions": sum(len(image.captions) for image in collection.images),
        "splits": {split: splits[split] for split in SPLITS},
        "trainable": is_trainable(collection),
        "problems": [asdict(problem) for problem in collection.problems],
        "problem_counts": dict(Counter(problem.kind for problem in collection.problems)),
    }


def describe(collection: Collection) -> str:
    """Return the same as text: the counts, then each kind of problem with its count and first examples in full.

    The last line says so if the collection cannot be trained on.
    """
    counts = summary(collection)
    lines = [
        f"{counts['format']}: {counted(counts['images'], 'image')} listed, {counts['usable']:,} usable, "
        f"{counts['with_captions']:,} with captions ({counted(counts['captions'], 'caption')})",
        "splits: " + ", ".join(f"{split} {count:,}" for split, count in counts["splits"].items()),
    ]
    by_kind: dict[str, list[Problem]] = defaultdict(list)
    for problem in collection.problems:
        by_kind[problem.kind].append(problem)
    for kind, problems in by_kind.items():
        lines.append(f"{kind} ({len(problems):,})")
        lines += [f"  {_line(problem)}" for problem in problems[:EXAMPLES]]
        if len(problems) > EXAMPLES:
            lines.append(f"  and {len(problems) - EXAMPLES:,} more")
    if any(len(problems) > EXAMPLES for problems in by_kind.values()):
        lines.append("Use --json to list all problems.")
    if not counts["trainable"]:
        lines.append(TOO_FEW if collection.images else "No usable images: there is nothing to train on or to index.")
    return "\n".join(lines)


def _line(problem: Problem) -> str:
    place = problem.item if problem.line is None else f"{problem.item} (line {problem.line:,})"
    return _escaped(f"{place}: {problem.detail}")


def _escaped(text: str) -> str:
    """Escape line breaks and terminal control characters, which file names may contain."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
