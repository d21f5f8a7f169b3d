"""`scenekin check`."""

import os

from scenekin.console import print_result
from scenekin.options import (
    AsJson,
    Assignments,
    CaptionColumn,
    Collection,
    ConfigFile,
    Format,
    ImageColumn,
    Images,
    Workspace,
    column_options,
)


def check(
    collection: Collection,
    config: ConfigFile = None,
    set: Assignments = None,
    format: Format = None,
    images: Images = None,
    image_column: ImageColumn = None,
    caption_column: CaptionColumn = None,
    workspace: Workspace = None,  # noqa: ARG001  every command accepts it
    json: AsJson = False,
) -> None:
    """Check a collection and report its contents and problems; writes nothing."""
    from scenekin.config_file import read_config
    from storage.source.tree import Source
    from tasks.collection.check import describe, summary
    from tasks.collection.gather import gather
    from tasks.collection.records import Files
    from tasks.progress import progress

    files, pictures = (Files(tree.paths, tree.open, tree.skipped) for tree in Source(collection, images).trees())
    settings = read_config(config, set or []).collection.model_copy(update=column_options(image_column, caption_column))
    found = gather(files, pictures, format, settings, workers=os.cpu_count() or 1, progress=progress)
    print_result(summary(found), json, describe(found))
