"""What a collection holds and what is wrong with it, for programs and for people."""

from collections import Counter, defaultdict
from dataclasses import asdict
from typing import Any

from tasks.collection.assemble import Collection
from tasks.collection.records import SPLITS

EXAMPLES = 3


def summary(collection: Collection) -> dict[str, Any]:
    """The JSON object of `scenekin check`; `images` counts all that are listed, `captions` those in use."""
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
    """The same for people: what there is, then each kind of problem with its count and first few items."""
    facts = summary(collection)
    lines = [
        f"{facts['format']}: {facts['images']:,} images listed, {facts['usable']:,} usable, "
        f"{facts['with_captions']:,} with captions ({facts['captions']:,})",
        ", ".join(f"{split} {count:,}" for split, count in facts["splits"].items()),
    ]
    items = defaultdict(list)
    for problem in collection.problems:
        item = _on_one_line(problem.item)
        items[problem.kind].append(item if problem.line is None else f"{item}:{problem.line}")
    width = max(map(len, items), default=0)
    for kind, names in items.items():
        more = f" and {len(names) - EXAMPLES:,} more" if len(names) > EXAMPLES else ""
        lines.append(f"  {kind:{width}} {len(names):>7,}  {', '.join(names[:EXAMPLES])}{more}")
    return "\n".join(lines)


def _on_one_line(name: str) -> str:
    """Line ends and what would command a terminal, as escapes: file names may hold them."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in name)
