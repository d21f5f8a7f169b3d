"""The stage that reads a collection: usable images and captions by split, and what is wrong."""

import hashlib
import json
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from storage.artifacts import Artifact, folder_of
from storage.reuse import known_rows
from storage.source.digests import remembered_digests, tree_digest
from storage.source.known_files import KnownFiles
from storage.source.tree import Source, Tree
from storage.tables import read_table, write_table
from storage.workspace import Workspace
from tasks.caching import StageRun, stage
from tasks.collection.config import CollectionConfig
from tasks.collection.records import SPLITS, Files
from tasks.errors import InputError
from tasks.progress import progress

if TYPE_CHECKING:
    from tasks.collection.image_info import Fact

FACTS_FILE = "facts.parquet"
LEAST_CAPTIONED = {"learn from": 8, "judge by": 4}  # images (METHOD.md 2); fewer rank too little to judge by


def require_captions(workspace: Workspace, collection: Artifact, split: str) -> None:
    """Raises InputError where train has too few captioned images to learn from, or the split to judge by."""
    for part, purpose in (("train", "learn from"), (split, "judge by")):
        count = read_table(folder_of(workspace, collection) / f"captions/{part}.parquet").num_rows
        least = LEAST_CAPTIONED[purpose]
        if count < least:
            raise InputError(
                f"The {part} split has {count} images with captions; at least {least} are needed to {purpose}: "
                "caption more images."
            )


def problem_counts(workspace: Workspace, collection: Artifact) -> dict[str, int]:
    """How many problems of each kind the collection has."""
    counts: dict[str, int] = json.loads((folder_of(workspace, collection) / "summary.json").read_text())[
        "problem_counts"
    ]
    return counts


def digest_collection(workspace: Workspace, source: Source) -> str:
    """What the collection's files hold, as the digest that its stage is keyed by."""
    with KnownFiles(workspace.known_files) as known:
        files, images = source.trees()
        trees = [files] if images is files else [files, images]
        digests = [tree_digest(tree, known, progress) for tree in trees]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


@stage("collection", libraries=("faiss-cpu", "imagehash", "pillow", "pillow-heif", "pyarrow", "scipy"))
def read_collection(
    run: StageRun,
    content: str,  # noqa: ARG001  the digest of all files, there for the key
    format: str | None,
    config: CollectionConfig,
) -> None:
    """Writes images.parquet, captioned/ and captions/ by split, what was refused, all problems, and the summary.

    Only images are opened whose bytes no collection had before.
    """
    from tasks.collection.arrow import caption_table, fact_table, image_table, problem_table
    from tasks.collection.check import summary
    from tasks.collection.gather import gather

    trees = run.source.trees()
    files, images = (Files(tree.paths, tree.open, tree.skipped) for tree in trees)
    known = _known_facts(run, trees[1])
    collection = gather(files, images, format, config, workers=run.runtime.workers, progress=progress, known=known)
    facts = fact_table(collection).replace_schema_metadata({"recipe": read_collection.key()})
    write_table(run.folder / FACTS_FILE, facts)
    write_table(run.folder / "images.parquet", image_table(collection))
    write_table(run.folder / "problems.parquet", problem_table(collection))
    for split in SPLITS:
        captions, pictures = caption_table(collection, split), image_table(collection, split)
        captioned = pictures.filter(pc.is_in(pictures["image_id"], captions["image_id"].combine_chunks()))
        write_table(run.folder / f"captions/{split}.parquet", captions)
        write_table(run.folder / f"captioned/{split}.parquet", captioned)
    refused = [{"item": problem.item, "reason": problem.detail} for problem in collection.refused]
    (run.folder / "refused.json").write_text(json.dumps(refused))
    (run.folder / "summary.json").write_text(json.dumps(summary(collection)))


def _known_facts(run: StageRun, images: Tree) -> dict[str, "Fact"]:
    """By path, of the files whose bytes an earlier collection had."""
    from tasks.collection.arrow import facts_of

    with KnownFiles(run.workspace.known_files) as known_files:
        sha256_of = remembered_digests(images, known_files)
    wanted = set(sha256_of.values())
    facts: dict[str, Fact] = {}
    for rows in known_rows(run.workspace, run.stage, FACTS_FILE, read_collection.key(), wanted):
        facts |= facts_of(rows)
    return {path: facts[sha256] for path, sha256 in sha256_of.items() if sha256 in facts}
