"""Summarises a collection and its problems, for programs and for people."""

from collections import Counter, defaultdict
from dataclasses import asdict
from typing import Any

from tasks.collection.assemble import Collection
from tasks.collection.records import SPLITS, Problem

EXAMPLES = 3


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
        "problems": [asdict(problem) for problem in collection.problems],
        "problem_counts": dict(Counter(problem.kind for problem in collection.problems)),
    }


def describe(collection: Collection) -> str:
    """Return the same as text: the counts, then each kind of problem with its count and first examples in full."""
    counts = summary(collection)
    listed = counts["images"] - counts["problem_counts"].get("ambiguous-name", 0)  # names of images that are counted
    lines = [
        f"{counts['format']}: {listed:,} images listed, {counts['usable']:,} usable, "
        f"{counts['with_captions']:,} with captions ({counts['captions']:,} captions)",
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
    return "\n".join(lines)


def _line(problem: Problem) -> str:
    place = problem.item if problem.line is None else f"{problem.item} (line {problem.line:,})"
    return _escaped(f"{place}: {problem.detail}")


def _escaped(text: str) -> str:
    """Escape line breaks and terminal control characters, which file names may contain."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
