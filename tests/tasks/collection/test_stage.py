from pathlib import Path

import pytest

from storage.source.tree import Source
from storage.tables import read_table
from storage.workspace import open_workspace
from tasks.caching import Runtime, StageRun
from tasks.collection.config import CollectionConfig
from tasks.collection.stage import read_collection
from tasks.errors import InputError
from tests.tasks.collection.making import pictures


def run(tmp_path: Path, **contents: str | bytes) -> Path:
    """The stage on a collection of these files; the folder that it wrote."""
    collection, folder = tmp_path / "collection", tmp_path / "artifact"
    for name, content in contents.items():
        path = collection / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    for part in ("captions", "captioned"):
        (folder / part).mkdir(parents=True)
    stage_run = StageRun(
        folder, open_workspace(tmp_path / "w"), Source(str(collection)), Runtime(), "k", "collection", {}
    )
    read_collection(stage_run, None, CollectionConfig(), recipe="r")
    return folder


@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        ({"metadata.jsonl": '{"file_name": "gone.jpg", "text": "A dog ."}\n'}, "1 image listed, all refused"),
        ({"train/metadata.csv": "file_name,text\n"}, "none is listed"),
        ({"metadata.csv": "file_name,text\na.jpg,x\n", "a.jpg": b"no image"}, "1 image listed, all refused"),
    ],
)
def test_a_collection_without_usable_images_is_one_sentence(
    tmp_path: Path, contents: dict[str, str | bytes], reason: str
) -> None:
    with pytest.raises(InputError, match=rf"^The collection has no usable images: {reason}; run `scenekin check`"):
        run(tmp_path, **contents)


def test_tables_are_written(tmp_path: Path) -> None:
    folder = run(tmp_path, **{"t.csv": "image,caption\na.jpg,A dog .\n", **pictures("a.jpg", "b.jpg")})
    assert read_table(folder / "images.parquet")["image_id"].to_pylist() == ["a.jpg", "b.jpg"]
    assert read_table(folder / "image_info.parquet").num_rows == 2
