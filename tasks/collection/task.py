"""The stage that reads a collection: usable images and captions by split, and all problems."""

import hashlib
import json

from storage.artifacts import Artifact, folder_of
from storage.source.digests import tree_digest
from storage.source.known_files import KnownFiles
from storage.source.tree import Source
from storage.tables import read_table
from storage.workspace import Workspace
from tasks.caching import StageRun, stage
from tasks.collection.config import CollectionConfig
from tasks.collection.splits import EVALUATE_ON, LEARN_FROM
from tasks.errors import InputError
from tasks.phrases import counted
from tasks.progress import progress


def require_captions(workspace: Workspace, collection: Artifact, split: str, *, train: bool = True) -> None:
    """Raise InputError if the split has too few captioned images to evaluate on, or train too few to learn from."""
    needed = ("train", LEARN_FROM, "learn from"), (split, EVALUATE_ON, "evaluate on")
    for part, minimum, purpose in needed[0 if train else 1 :]:
        count = _captioned(workspace, collection, part)
        if count < minimum:
            raise InputError(
                f"The {part} split has {counted(count, 'captioned image')}, but at least {minimum} are needed to "
                f"{purpose}; {_unread(workspace, collection) or _remedy(part)}."
            )


def has_training_captions(workspace: Workspace, collection: Artifact) -> bool:
    """Return whether train has enough captioned images to learn from."""
    return _captioned(workspace, collection, "train") >= LEARN_FROM


def _captioned(workspace: Workspace, collection: Artifact, split: str) -> int:
    rows: int = read_table(folder_of(workspace, collection) / f"captions/{split}.parquet").num_rows
    return rows


def _remedy(split: str) -> str:
    more = "add images with captions"
    return more if split == "train" else f"{more}, or train with a larger --set collection.{split}_fraction"


def _unread(workspace: Workspace, collection: Artifact) -> str:
    """Name a file that was not read, since the missing captions may be in it."""
    problems = read_table(folder_of(workspace, collection) / "problems.parquet", ["kind", "item", "detail"])
    for problem in problems.to_pylist():
        if problem["kind"] == "unused-file":
            return f"{problem['item']}: {problem['detail']}"
    return ""


def problem_counts(workspace: Workspace, collection: Artifact) -> dict[str, int]:
    """Return the number of problems of each kind."""
    counts: dict[str, int] = json.loads(
        (folder_of(workspace, collection) / "summary.json").read_text(encoding="utf-8")
    )["problem_counts"]
    return counts


def digest_collection(workspace: Workspace, source: Source) -> str:
    """Return the digest of the contents of all files, which is part of the stage's key."""
    with KnownFiles(workspace.known_files) as known:
        files, images = source.trees()
        trees = [files] if images is files else [files, images]
        digests = [tree_digest(tree, known, progress) for tree in trees]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


@stage(
    "collection",
    libraries=("charset-normalizer", "imagehash", "pillow", "pillow-heif", "pyarrow", "scipy"),
)
def read_collection(
    run: StageRun,
    content: str,  # noqa: ARG001  the digest of all files, which is part of the key
    format: str | None,
    config: CollectionConfig,
) -> None:
    """Write images.parquet, captioned/ and captions/ by split, the refused images, all problems, and the summary.

    Images are opened only if no earlier collection had the same bytes.
    """
    from tasks.collection.stage import read_collection as run_stage

    run_stage(run, format, config, recipe=read_collection.key())
