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
from tasks.errors import InputError
from tasks.progress import progress

MIN_CAPTIONED = {"learn from": 8, "evaluate on": 4}  # images (METHOD.md 2); fewer give no ranking to judge


def require_captions(workspace: Workspace, collection: Artifact, split: str) -> None:
    """Raise InputError if train has too few captioned images to learn from, or the split too few to evaluate on."""
    for part, purpose in (("train", "learn from"), (split, "evaluate on")):
        count = read_table(folder_of(workspace, collection) / f"captions/{part}.parquet").num_rows
        minimum = MIN_CAPTIONED[purpose]
        if count < minimum:
            raise InputError(
                f"The {part} split has {count} images with captions, but at least {minimum} are needed to {purpose}; "
                f"{_remedy(part)}."
            )


def _remedy(split: str) -> str:
    more = "add images with captions"
    return more if split == "train" else f"{more}, or draw more from train with --set collection.{split}_fraction"


def problem_counts(workspace: Workspace, collection: Artifact) -> dict[str, int]:
    """Return the number of problems of each kind."""
    counts: dict[str, int] = json.loads((folder_of(workspace, collection) / "summary.json").read_text())[
        "problem_counts"
    ]
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
    libraries=("charset-normalizer", "faiss-cpu", "imagehash", "pillow", "pillow-heif", "pyarrow", "scipy"),
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
