"""The stage that reads a collection: usable images and captions by split, and what is wrong."""

import hashlib
import json
from pathlib import Path

import pyarrow.compute as pc

from storage.files import collection_trees, tree_digest
from storage.known_files import KnownFiles
from storage.tables import write_table
from storage.workspace import Workspace
from tasks.caching import Runtime, StageRun, stage
from tasks.collection.check import summary
from tasks.collection.config import CollectionConfig
from tasks.collection.demo import write_collection
from tasks.collection.gather import gather
from tasks.collection.records import SPLITS, Files
from tasks.collection.tables import caption_table, image_table, problem_table
from tasks.progress import progress


def demo_collection(workspace: Workspace) -> Path:
    """The folder of the demo's collection, made where it is not there yet."""
    folder = workspace.root / "demo"
    write_collection(folder)
    return folder


def digest_collection(workspace: Workspace, runtime: Runtime) -> str:
    """What the collection's files hold, as the digest that its stage is keyed by."""
    with KnownFiles(workspace.known_files) as known:
        digests = [tree_digest(tree, known) for tree in collection_trees(runtime.source, runtime.images)]
    return hashlib.sha256("".join(digests).encode()).hexdigest()


@stage("collection", libraries=("pillow", "pyarrow"))
def read_collection(
    run: StageRun,
    content: str,  # noqa: ARG001  the digest of all files, there for the key
    format: str | None,
    config: CollectionConfig,
) -> None:
    """Writes images.parquet, captioned/ and captions/ by split, what was refused, all problems, and the summary."""
    trees = collection_trees(run.runtime.source, run.runtime.images)
    files, images = (Files(tree.paths, tree.open) for tree in trees)
    collection = gather(files, images, format, config, workers=run.runtime.workers, progress=progress)
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
