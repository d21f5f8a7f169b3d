import io
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from storage.source import parquet_images
from storage.source.tree import Source, list_tree, read_below
from tasks.collection.config import CollectionConfig
from tasks.collection.formats import read_collection
from tasks.collection.readers.parquet_images import ParquetImages
from tasks.errors import InputError
from tests.tasks.collection.making import captions, files_of, gathered, kinds, picture, pictures

COLOURS = ["red", "green", "blue"]


def parquet(row_group_size: int = 2, **columns: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream, row_group_size=row_group_size)
    return stream.getvalue()


def dataset(**others: Any) -> bytes:
    cells = [{"bytes": picture(colour), "path": f"{colour}.png"} for colour in COLOURS]
    return parquet(image=cells, caption=[["One .", "Two ."], ["Three ."], []], filename=COLOURS, **others)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train-00000-of-00001.parquet").write_bytes(dataset())
    (tmp_path / "data" / "test-00000-of-00001.parquet").write_bytes(parquet(jpg=[picture()], text=["Four ."]))
    (tmp_path / "README.md").write_text("---")
    return tmp_path


@pytest.mark.parametrize("place", ["", "data"])
def test_images_and_captions_are_read_from_the_files(folder: Path, place: str) -> None:
    collection = gathered(Source(str(folder / place)))
    assert collection.format == "parquet-images"
    home = "" if place else "data/"
    train = f"{home}train-00000-of-00001.parquet/image"
    assert captions(collection) == {
        f"{home}test-00000-of-00001.parquet/jpg/0": ("Four .",),
        f"{train}/0": ("One .", "Two ."),
        f"{train}/1": ("Three .",),
        f"{train}/2": (),
    }
    assert collection.refused == ()
    assert collection.images[0].split == "test"
    tree = list_tree(str(folder / place))
    for image, colour in zip(collection.images[1:], COLOURS, strict=True):
        assert tree.open(image.path).read() == read_below(tree.address, image.path) == picture(colour)


def test_a_single_file_and_a_column_of_splits(tmp_path: Path) -> None:
    (tmp_path / "all.parquet").write_bytes(dataset(split=["train", "test", "validation"]))
    collection = gathered(Source(str(tmp_path / "all.parquet")))
    assert [image.split for image in collection.images] == ["train", "test", "validation"]
    assert kinds(collection) == {"no-caption": 1}


def test_what_is_no_image_is_refused(tmp_path: Path) -> None:
    cells = [{"bytes": b"no image", "path": "a"}, {"bytes": None, "path": "b.jpg"}, {"bytes": picture(), "path": None}]
    (tmp_path / "a.parquet").write_bytes(parquet(image=cells, caption=["x", "y", "z"]))
    collection = gathered(Source(str(tmp_path)))
    assert [(problem.item, problem.kind) for problem in collection.refused] == [
        ("a.parquet/image/1", "missing-image"),
        ("a.parquet/image/0", "unreadable-image"),
    ]
    assert "its row has no image" in collection.refused[0].detail


def test_a_row_group_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    file = pq.ParquetFile
    monkeypatch.setattr(parquet_images.pq, "ParquetFile", lambda stream: opened.append(stream) or file(stream))
    tree = list_tree(str(folder / "data"))
    for row in (0, 1, 0, 2):
        tree.open(f"train-00000-of-00001.parquet/image/{row}").close()
    assert len(opened) == 2


@pytest.mark.parametrize("path", ["gone.parquet/image/0", "train.parquet/none/0", "train.parquet/image/9"])
def test_what_is_not_there_is_an_os_error(tmp_path: Path, path: str) -> None:
    (tmp_path / "train.parquet").write_bytes(dataset())
    for read in (lambda: list_tree(str(tmp_path)).open(path), lambda: read_below(str(tmp_path), path)):
        with pytest.raises(OSError, match=r"."):
            read()


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    for colour in COLOURS:
        data = parquet(image=[{"bytes": picture(colour), "path": "x"}], padding=["x" * len(colour)])
        (tmp_path / "a.parquet").write_bytes(data)
        assert read_below(str(tmp_path), "a.parquet/image/0") == picture(colour)


def test_with_image_files_the_table_names_them() -> None:
    data = parquet(image=[{"bytes": picture(), "path": "a.jpg"}], file=["a.jpg"], caption=["A dog ."])
    files = files_of({"t.parquet": data, **pictures("a.jpg")})
    assert [item.path for item in read_collection(files, files).items] == ["a.jpg"]


def test_a_file_given_by_itself_is_read_though_images_lie_beside_it(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(parquet(image=[picture("red"), picture("blue")], caption=["x", "y"]))
    (tmp_path / "a.jpg").write_bytes(picture())
    collection = gathered(Source(str(tmp_path / "t.parquet")))
    assert captions(collection) == {"t.parquet/image/0": ("x",), "t.parquet/image/1": ("y",)}


def test_a_wrong_column_is_one_sentence() -> None:
    files = files_of({"t.parquet": dataset()})
    assert ParquetImages().recognises(files)
    with pytest.raises(InputError, match=r"^t\.parquet has no column of images named 'photo'; set .* to image\.$"):
        read_collection(files, files, None, CollectionConfig(image_column="photo"))


def test_a_pipe_is_never_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.parquet")
    with pytest.raises(OSError, match="not a regular file"):
        read_below(str(tmp_path), "a.parquet/image/0")
