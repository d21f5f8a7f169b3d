"""Summarises a collection and its problems, for programs and for people."""

import posixpath
from collections import Counter, defaultdict
from collections.abc import Sequence
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


def describe(collection: Collection, out: str | None = None) -> str:
    """Return the same as text: the counts, then each kind of problem with its count and first examples in full.

    Missing images are grouped by folder, the largest group first. `out` is the file that has all problems, if any.
    The last line says so if the collection cannot be trained on.
    """
    counts = summary(collection)
    listed = counts["images"] - counts["problem_counts"].get("ambiguous-name", 0)  # names of images that are counted
    lines = [
        f"{counts['format']}: {counted(listed, 'image')} listed, {counts['usable']:,} usable, "
        f"{counts['with_captions']:,} with captions ({counted(counts['captions'], 'caption')})",
        "splits: " + ", ".join(f"{split} {count:,}" for split, count in counts["splits"].items()),
    ]
    by_kind: dict[str, list[Problem]] = defaultdict(list)
    for problem in collection.problems:
        by_kind[problem.kind].append(problem)
    for kind, problems in by_kind.items():
        lines.append(f"{kind} ({len(problems):,})")
        lines += [f"  {line}" for line in _examples(kind, problems)]
    if out is not None:
        lines.append(f"All {len(collection.problems):,} problems written to {out}")
    elif any(len(problems) > len(_examples(kind, problems)) for kind, problems in by_kind.items()):
        lines.append("Use --out problems.csv or --json to list all problems.")
    if not counts["trainable"]:
        lines.append(TOO_FEW if collection.images else "No usable images: there is nothing to train on or to index.")
    return "\n".join(lines)


def _examples(kind: str, problems: Sequence[Problem]) -> list[str]:
    """Return a line for each problem, or the first lines and how many more there are; one line is never left out."""
    groups = [[problem] for problem in problems]
    if kind == "missing-image" and len(problems) > EXAMPLES + 1:
        by_folder: dict[str, list[Problem]] = defaultdict(list)
        for problem in problems:
            by_folder[posixpath.dirname(problem.item) or problem.item].append(problem)
        groups = sorted(by_folder.values(), key=len, reverse=True)
    shown = groups if len(groups) <= EXAMPLES + 1 else groups[:EXAMPLES]
    lines = [_line(group[0]) if len(group) == 1 else _group_line(group) for group in shown]
    more = len(problems) - sum(map(len, shown))
    return [*lines, f"and {more:,} more"] if more else lines


def _group_line(group: Sequence[Problem]) -> str:
    folder = _escaped(posixpath.dirname(group[0].item))
    return f"{len(group):,} in {folder}, such as {_line(group[0])}"


def _line(problem: Problem) -> str:
    place = problem.item if problem.line is None else f"{problem.item} (line {problem.line:,})"
    return _escaped(f"{place}: {problem.detail}")


def _escaped(text: str) -> str:
    """Escape line breaks and terminal control characters, which file names may contain."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
