import os
from pathlib import Path

import pytest

from storage.source.tree import Source
from tasks.collection.assemble import Collection
from tasks.collection.config import CollectionConfig
from tasks.collection.gather import gather
from tasks.collection.records import Files
from tests.tasks.collection.making import gathered, pictures, silent

FORMATS = ["folder", "imagefolder"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "collection"
    folder.mkdir()
    for name, content in pictures("a.jpg", "b.jpg").items():
        (folder / name).write_bytes(content)
    return folder


def write(folder: Path, format: str, *names: str) -> None:
    """What makes the folder a collection of that format."""
    if format == "imagefolder":
        (folder / "metadata.jsonl").write_text("\n".join(f'{{"file_name": "{name}", "text": "A ."}}' for name in names))


def told(collection: Collection) -> dict[str, str]:
    """Kinds of what files themselves are to blame for, by item."""
    assert collection.listed == len(collection.images) + len(collection.refused)
    others = {"no-caption", "near-duplicate", "near-duplicate-across-splits"}
    return {problem.item: problem.kind for problem in collection.problems if problem.kind not in others}


@pytest.mark.parametrize("format", FORMATS)
def test_links_that_lead_nowhere_are_told_and_images_among_them_refused(folder: Path, format: str) -> None:
    for name, target in {"dangling.jpg": "no.jpg", "self.jpg": "self.jpg", "self": "self", "notes.txt": "no"}.items():
        (folder / name).symlink_to(target)
    write(folder, format, "a.jpg", "dangling.jpg")
    collection = gathered(Source(str(folder)))
    assert collection.format == format
    assert told(collection) == {
        "dangling.jpg": "dead-link",
        "self.jpg": "dead-link",
        "self": "dead-link",
        "notes.txt": "dead-link",
    }
    assert (collection.listed, len(collection.images)) == (4, 2)


def test_what_is_no_item_is_told_once_though_it_is_among_files_and_images(folder: Path) -> None:
    (folder / "self").symlink_to("self")
    (folder / "again").symlink_to(".")
    problems = gathered(Source(str(folder), str(folder))).problems
    assert sorted(problem.item for problem in problems if problem.kind != "near-duplicate") == ["again/", "self"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_pipe_named_like_an_image_is_refused_and_never_opened(folder: Path, format: str) -> None:
    os.mkfifo(folder / "pipe.jpg")
    os.mkfifo(folder / "pipe")
    write(folder, format, "a.jpg", "pipe.jpg")
    collection = gathered(Source(str(folder)))
    assert told(collection) == {"pipe": "special-file", "pipe.jpg": "special-file"}
    (refused,) = collection.refused
    assert refused.detail.startswith("a pipe, socket or device; it is not opened")


def test_a_folder_named_like_an_image_is_no_image(folder: Path) -> None:
    (folder / "c.jpg").mkdir()
    (folder / "c.jpg" / "1.jpg").write_bytes(pictures("a.jpg", "b.jpg", "c.jpg")["c.jpg"])
    (folder / "d.jpg").symlink_to("c.jpg")
    collection = gathered(Source(str(folder)))
    assert [image.image_id for image in collection.images] == ["a.jpg", "b.jpg", "c.jpg/1.jpg"]
    assert told(collection) == {"d.jpg/": "repeated-folder"}


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_is_gone_when_it_is_read_is_missing(folder: Path, format: str) -> None:
    write(folder, format, "a.jpg", "b.jpg")
    files, images = (Files(tree.paths, tree.open, tree.skipped) for tree in Source(str(folder)).trees())
    (folder / "b.jpg").unlink()
    collection = gather(files, images, None, CollectionConfig(), workers=1, progress=silent)
    assert told(collection) == {"b.jpg": "missing-image"}


def test_images_whose_facts_are_known_are_not_opened(folder: Path) -> None:
    source = Source(str(folder))
    whole = gathered(source)
    opened: list[str] = []
    files, images = (
        Files(tree.paths, lambda path, tree=tree: opened.append(path) or tree.open(path)) for tree in source.trees()
    )
    known = {"a.jpg": whole.image_info["a.jpg"], "gone.jpg": whole.image_info["b.jpg"]}
    again = gather(files, images, None, CollectionConfig(), workers=1, progress=silent, known=known)
    assert again == whole
    assert opened == ["b.jpg"]
