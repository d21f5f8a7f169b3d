"""Reads a collection and writes its tables."""

import json
from collections.abc import Mapping

import pyarrow.compute as pc

from storage.reuse import known_rows
from storage.source.digests import former_digests, remembered_digests
from storage.source.known_files import KnownFiles
from storage.source.tree import Tree
from storage.tables import write_table
from tasks.caching import StageRun
from tasks.collection.arrow import caption_table, image_info_from, image_info_table, image_table, problem_table
from tasks.collection.check import summary
from tasks.collection.config import CollectionConfig
from tasks.collection.gather import gather
from tasks.collection.image_info import ImageInfo
from tasks.collection.records import SPLITS, Files
from tasks.errors import InputError
from tasks.phrases import counted
from tasks.progress import progress

IMAGE_INFO_FILE = "image_info.parquet"


def read_collection(run: StageRun, format: str | None, config: CollectionConfig, recipe: str) -> None:
    """Write all tables of the collection; image information is reused from earlier artifacts of the same recipe."""
    trees = run.source.trees()
    files, images = (Files(tree.paths, tree.open, tree.skipped) for tree in trees)
    collection = gather(
        files,
        images,
        format,
        config,
        workers=run.runtime.workers,
        progress=progress,
        known=_known_info(run, trees[1], recipe),
        former_digests=lambda paths: former_digests(trees[1], paths, run.workspace.known_files),
    )
    if not collection.images:
        listed = f"{counted(collection.listed, 'image')} listed, all refused" if collection.listed else "none is listed"
        raise InputError(f"The collection has no usable images: {listed}; run `scenekin check` for the reasons.")
    info = image_info_table(collection).replace_schema_metadata({"recipe": recipe})
    write_table(run.folder / IMAGE_INFO_FILE, info)
    write_table(run.folder / "images.parquet", image_table(collection))
    write_table(run.folder / "problems.parquet", problem_table(collection))
    for split in SPLITS:
        captions, pictures = caption_table(collection, split), image_table(collection, split)
        captioned = pictures.filter(pc.is_in(pictures["image_id"], captions["image_id"].combine_chunks()))
        write_table(run.folder / f"captions/{split}.parquet", captions)
        write_table(run.folder / f"captioned/{split}.parquet", captioned)
    refused = [{"item": problem.item, "reason": problem.detail, "kind": problem.kind} for problem in collection.refused]
    (run.folder / "refused.json").write_text(json.dumps(refused), encoding="utf-8")
    (run.folder / "summary.json").write_text(json.dumps(summary(collection)), encoding="utf-8")


def _known_info(run: StageRun, images: Tree, recipe: str) -> Mapping[str, ImageInfo]:
    """Return the information, by path, of files whose bytes an earlier collection had."""
    with KnownFiles(run.workspace.known_files) as known_files:
        sha256_of = remembered_digests(images, known_files)
    wanted = set(sha256_of.values())
    info: dict[str, ImageInfo] = {}
    for rows in known_rows(run.workspace, run.stage, IMAGE_INFO_FILE, recipe, wanted):
        info |= image_info_from(rows)
    return {path: info[sha256] for path, sha256 in sha256_of.items() if sha256 in info}
