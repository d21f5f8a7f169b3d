import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scenekin.queries import list_queries
from storage.errors import StorageError
from tasks.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.jpg", "below/b.PNG", "notes.txt", ".hidden.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    return tmp_path


def test_a_folder_is_searched_for_its_images(folder: Path) -> None:
    (folder / "gone.jpg").symlink_to(folder / "nowhere")
    queries = list_queries(folder)
    assert queries.names == ("a.jpg", "below/b.PNG")
    assert queries.read("below/b.PNG") == b"below/b.PNG"
    assert [refusal["item"] for refusal in queries.refused] == ["gone.jpg"]


def as_csv(names: list[str]) -> bytes:
    return "\n".join(["size,file", *(f'1,"{name}"' for name in names)]).encode()


def as_jsonl(names: list[str]) -> bytes:
    return "\n".join(json.dumps({"image": name}) for name in names).encode()


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("list.txt", lambda names: ("\ufeff" + "\r\n".join(["", *names, " "])).encode()),
        ("list", lambda names: "\n".join(names).encode()),
        ("list.csv", lambda names: "\n".join(names).encode()),
        ("list.csv", as_csv),
        ("list.jsonl", as_jsonl),
    ],
)
def test_a_list_names_images_seen_from_its_folder(folder: Path, name: str, write: object) -> None:
    names = ["below/b.PNG", str(folder / "a.jpg"), "none, at all.jpg", "below/b.PNG"]
    (folder / name).write_bytes(write(names))  # type: ignore[operator]
    queries = list_queries(folder / name)
    assert queries.names == tuple(names)
    assert [queries.read(name) for name in names[:2]] == [b"below/b.PNG", b"a.jpg"]
    with pytest.raises(InputError, match="No such file"):
        queries.read(names[2])


def test_parquet_names_images_in_its_one_column_or_in_that_of_images(folder: Path) -> None:
    pq.write_table(pa.table({"what": ["a.jpg", None]}), folder / "one.parquet")
    queries = list_queries(folder / "one.parquet")
    assert (queries.names, [refusal["item"] for refusal in queries.refused]) == (("a.jpg",), ["one.parquet:2"])
    pq.write_table(pa.table({"size": [1], "path": ["a.jpg"]}), folder / "two.parquet")
    assert list_queries(folder / "two.parquet").names == ("a.jpg",)


def test_a_broken_row_is_refused_and_the_rest_is_asked(folder: Path) -> None:
    (folder / "list.csv").write_text("file,size\na.jpg,1\nb.jpg\nbelow/b.PNG,2\n")
    queries = list_queries(folder / "list.csv")
    assert queries.names == ("a.jpg", "below/b.PNG")
    assert [refusal["item"] for refusal in queries.refused] == ["list.csv:3"]


def test_the_column_may_be_named_and_otherwise_has_to_be_clear(folder: Path) -> None:
    (folder / "list.csv").write_text("first,second\na.jpg,below/b.PNG\n")
    with pytest.raises(
        InputError, match=r"which column of list\.csv names the images \(first, second\); .* --image-column"
    ):
        list_queries(folder / "list.csv")
    assert list_queries(folder / "list.csv", "second").names == ("below/b.PNG",)


def test_where_nothing_is_named_it_is_said(folder: Path, tmp_path: Path) -> None:
    (folder / "empty.txt").write_text("\n \n")
    with pytest.raises(InputError, match=r"empty\.txt names no images"):
        list_queries(folder / "empty.txt")
    (folder / "captions.json").write_text("{}")
    with pytest.raises(InputError, match=r"captions\.json is a JSON file; list the paths in a text file, \.csv, "):
        list_queries(folder / "captions.json")
    with pytest.raises(StorageError, match="No such file or folder"):
        list_queries(tmp_path / "none")


@pytest.mark.parametrize("name", ["zero\0byte.jpg", "lone\udcff.jpg", "below"])
def test_what_cannot_be_read_is_refused_in_words(folder: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"\w"):
        list_queries(folder).read(name)
