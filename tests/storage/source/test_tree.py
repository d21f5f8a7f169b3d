import hashlib
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from storage.errors import StorageError
from storage.source.tree import ChangedFile, Source, Tree, list_tree, read_below, reader

CONTENTS = {
    "b.jpg": b"b",
    "a/2.jpg": b"2",
    "a/10.jpg": b"10",
    "a b#c%20d?.jpg": b"odd",
    ".hidden": b"x",
    "a/.cache/3.jpg": b"x",
    ".git/4.jpg": b"x",
}
SHOWN = ("a b#c%20d?.jpg", "a/10.jpg", "a/2.jpg", "b.jpg")


def read_file(tree: Tree, path: str) -> bytes:
    with tree.open(path) as stream:
        return stream.read()


@pytest.fixture
def local(tmp_path: Path) -> str:
    for path, content in CONTENTS.items():
        (tmp_path / "collection" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "collection" / path).write_bytes(content)
    return str(tmp_path / "collection")


@pytest.fixture
def memory() -> Iterator[str]:
    filesystem = fsspec.filesystem("memory")
    for path, content in CONTENTS.items():
        filesystem.pipe(f"/collection/{path}", content)
    yield "memory://collection"
    filesystem.rm("/collection", recursive=True)


@pytest.fixture(params=["local", "memory"])
def url(request: pytest.FixtureRequest) -> str:
    place: str = request.getfixturevalue(request.param)
    return place


def test_files_that_are_not_hidden_are_listed_in_order(url: str) -> None:
    for spelling in (url, f"{url}/"):
        tree = list_tree(spelling)
        assert tree.paths == SHOWN
        assert {path: read_file(tree, path) for path in tree.paths} == {path: CONTENTS[path] for path in SHOWN}


def test_a_file_is_read_by_the_address_of_its_root_alone(url: str) -> None:
    for tree in (list_tree(url), list_tree(f"{url}/"), list_tree(f"{url}/b.jpg")):
        assert {path: read_below(tree.address, path) for path in SHOWN} == {path: CONTENTS[path] for path in SHOWN}
    with pytest.raises(FileNotFoundError):
        read_below(list_tree(url).address, "none.jpg")


def test_an_address_that_nothing_leads_to_is_an_os_error() -> None:
    with pytest.raises(OSError, match="nowhere"):
        read_below("nowhere://photos", "a.jpg")


def test_a_single_file_is_a_tree_of_its_own(url: str) -> None:
    tree = list_tree(f"{url}/a/2.jpg")
    assert tree.paths == ("2.jpg",)
    assert read_file(tree, "2.jpg") == b"2"


def test_a_hidden_folder_can_be_asked_for(url: str) -> None:
    assert list_tree(f"{url}/a/.cache").paths == ("3.jpg",)


def test_nothing_there_is_said(url: str) -> None:
    with pytest.raises(StorageError, match=r"No such file or folder: .*/nowhere; give the folder or file"):
        list_tree(f"{url}/nowhere")


@pytest.mark.parametrize("url", ["nonsense://x", "memory:/\0"])
def test_what_cannot_be_a_place_is_said(url: str) -> None:
    with pytest.raises(StorageError, match=r"No such file or folder|Cannot read nonsense://x: Protocol not known"):
        list_tree(url)


def test_a_place_that_may_not_be_read_is_said(local: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> list[str]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("storage.source.tree.walk", denied)
    with pytest.raises(StorageError, match=f"Cannot read {local}: Permission denied"):
        list_tree(local)


def test_images_lie_beside_the_source_or_where_they_are_said_to(url: str, tmp_path: Path) -> None:
    tree, images = Source(url, None).trees()
    assert tree.paths == images.paths == SHOWN
    with fsspec.open(f"{url}/captions.json", "wb") as stream:
        stream.write(b"{}")
    tree, images = Source(f"{url}/captions.json", None).trees()
    assert (tree.paths, images.paths) == (("captions.json",), tuple(sorted([*SHOWN, "captions.json"])))
    assert read_file(images, "a/2.jpg") == b"2"
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "1.jpg").touch()
    tree, images = Source(url, str(tmp_path / "pictures")).trees()
    assert (tree.paths, images.paths) == ((*SHOWN, "captions.json"), ("1.jpg",))


def test_a_folder_of_one_file_is_its_own_images_folder(tmp_path: Path) -> None:
    (tmp_path / "0.jpg").touch()
    files, images = Source(str(tmp_path), None).trees()
    assert files == images


def test_a_reader_gives_the_bytes_it_was_promised(url: str) -> None:
    read = reader(list_tree(url), {path: hashlib.sha256(CONTENTS[path]).hexdigest() for path in SHOWN})
    assert {path: read(path) for path in SHOWN} == {path: CONTENTS[path] for path in SHOWN}


def test_a_reader_refuses_other_bytes(local: str) -> None:
    read = reader(list_tree(local), {"b.jpg": hashlib.sha256(b"b").hexdigest()})
    (Path(local) / "b.jpg").write_bytes(b"c")
    with pytest.raises(ChangedFile, match=r"b\.jpg changed during the run"):
        read("b.jpg")
    (Path(local) / "b.jpg").unlink()
    with pytest.raises(FileNotFoundError):
        read("b.jpg")


def test_one_image_is_no_collection_and_one_file_no_folder_of_images(tmp_path: Path) -> None:
    (tmp_path / "0.jpg").touch()
    with pytest.raises(StorageError, match=r"0\.jpg is not a caption file"):
        Source(str(tmp_path / "0.jpg")).trees()
    with pytest.raises(StorageError, match="--images takes the folder of the images"):
        Source(str(tmp_path), str(tmp_path / "0.jpg")).trees()


def test_a_workspace_on_a_remote_is_no_part_of_a_collection(memory: str) -> None:
    for path in ("results/.scenekin-workspace", "results/demo/2.jpg", "results-too.jpg"):
        fsspec.filesystem("memory").pipe(f"/collection/{path}", b"")
    assert list_tree(memory).paths == tuple(sorted([*SHOWN, "results-too.jpg"]))


def test_a_listing_is_never_an_earlier_one(memory: str) -> None:
    list_tree(memory)
    fsspec.filesystem("memory").pipe("/collection/new.jpg", b"")
    assert "new.jpg" in list_tree(memory).paths


@pytest.mark.parametrize("name", ["a#b %20[x]", "q?*", "s3:x", "a::b", "new\nline", "🐶", "\udcff"])
def test_a_local_root_may_have_any_name(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "0.jpg").write_bytes(b"0")
    monkeypatch.chdir(tmp_path)
    for spelling in (tmp_path / name, Path(name)):
        tree = list_tree(str(spelling))
        assert (tree.paths, tree.root) == (("0.jpg",), str(tmp_path / name))
        assert read_file(tree, "0.jpg") == b"0"
    (tmp_path / "captions.json").touch()
    _, images = Source(str(tmp_path / "captions.json"), str(tmp_path / name)).trees()
    assert read_file(images, "0.jpg") == b"0"


def test_a_local_place_may_be_written_as_a_url(local: str) -> None:
    assert list_tree(f"file://{local}").paths == SHOWN


def test_what_is_passed_over_comes_with_the_files(local: str) -> None:
    (Path(local) / "self").symlink_to("self")
    (skipped,) = list_tree(local).skipped
    assert (skipped.kind, skipped.path) == ("dead-link", "self")
