"""`scenekin check`."""

import os
from collections.abc import Sequence
from contextlib import suppress

from scenekin.console import print_result
from scenekin.options import (
    AsJson,
    Assignments,
    CaptionColumn,
    Collection,
    ConfigFile,
    Encoding,
    FollowLinks,
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
    encoding: Encoding = None,
    follow_links: FollowLinks = False,
    workspace: Workspace = None,
    json: AsJson = False,
) -> None:
    """Check a collection and report its contents and problems without writing anything."""
    from scenekin.config_file import read_config
    from storage.errors import StorageError
    from storage.source.digests import former_digests
    from storage.source.tree import Source
    from storage.workspace import find_workspace
    from tasks.collection.check import describe, summary
    from tasks.collection.gather import gather
    from tasks.collection.records import Files
    from tasks.progress import progress

    trees = Source(collection, images, follow_links).trees()
    files, pictures = (Files(tree.paths, tree.open, tree.skipped) for tree in trees)
    settings = read_config(config, set or [], "check").collection.override(
        column_options(image_column, caption_column, encoding)
    )

    def former(paths: Sequence[str]) -> dict[str, str]:
        with suppress(StorageError):  # there may be no workspace yet
            return former_digests(trees[1], paths, find_workspace(workspace).known_files)
        return {}

    found = gather(
        files,
        pictures,
        format,
        settings,
        workers=os.cpu_count() or 1,
        progress=progress,
        former_digests=former,
    )
    print_result(summary(found), json, describe(found))
