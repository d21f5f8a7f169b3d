"""Collections on an object store: moto's S3 server, as s3fs and its environment variables reach any other."""

import hashlib
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import fsspec
import pytest
import s3fs
from moto.server import ThreadedMotoServer

from storage.errors import StorageError
from storage.source.digests import file_digests, tree_digest
from storage.source.known_files import KnownFiles
from storage.source.tree import Source, Tree, list_tree, reader
from tasks.collection.config import CollectionConfig
from tasks.collection.gather import gather
from tasks.collection.records import Files
from tests.tasks.collection.making import captions, gathered, pictures, silent

NAMES = ["a b.jpg", "c#d.jpg", "50%20off.jpg", "1+1.jpg", "q?x.jpg", "[a]*.jpg", "🐶.jpg", "sub/e&f.jpg"]
URL = "s3://photos/my set #1"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """An S3 server in a thread of this process."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    yield f"http://127.0.0.1:{server.get_host_and_port()[1]}"
    server.stop()


@pytest.fixture
def environment(endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The environment that leads to the server, and nothing of this machine's."""
    variables = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "something",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "none"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "none"),
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    s3fs.S3FileSystem.clear_instance_cache()
    yield
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def bucket(environment: None) -> Iterator[Any]:  # noqa: ARG001
    """A captioned collection below a prefix of a bucket."""
    bucket = boto3.resource("s3").Bucket("photos")
    bucket.create()
    rows = [f'{{"file_name": "{name}", "caption": "A picture called {name} ."}}' for name in NAMES]
    contents = {**pictures(*NAMES), "metadata.jsonl": "\n".join(rows).encode(), "": b"", "sub/": b"", ".x/1.jpg": b""}
    for name, content in contents.items():
        bucket.put_object(Key=f"my set #1/{name}", Body=content)
    bucket.put_object(Key="my set #10/other.jpg", Body=b"of another collection")
    yield bucket
    bucket.objects.all().delete()
    bucket.delete()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Notes each request that the server gets."""
    noted: list[str] = []
    real = s3fs.S3FileSystem._call_s3

    async def call(self: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        noted.append(method)
        return await real(self, method, *args, **kwargs)

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", call)
    return noted


@pytest.fixture
def known(tmp_path: Path) -> Iterator[KnownFiles]:
    with KnownFiles(tmp_path / "known.db") as known:
        yield known


@pytest.fixture
def memory() -> Iterator[str]:
    filesystem = fsspec.filesystem("memory")
    rows = "\n".join(["file_name,caption", *(f'"{name}",A picture called {name} .' for name in NAMES)])
    for name, content in {**pictures(*NAMES), "metadata.csv": rows.encode()}.items():
        filesystem.pipe(f"/my set #1/{name}", content)
    yield "memory://my set #1"
    filesystem.rm("/my set #1", recursive=True)


@pytest.mark.usefixtures("bucket")
def test_a_collection_on_s3_is_read_as_one_on_disk() -> None:
    collection = gathered(Source(URL))
    assert captions(collection) == {name: (f"A picture called {name} .",) for name in NAMES}
    assert (collection.format, collection.refused) == ("imagefolder", ())
    digests = {image.path: image.sha256 for image in collection.images}
    assert digests == {name: hashlib.sha256(data).hexdigest() for name, data in pictures(*NAMES).items()}
    read = reader(Source(URL).trees()[1], digests)
    assert {name: read(name) for name in NAMES} == pictures(*NAMES)


def test_a_collection_in_memory_is_read_as_one_on_disk(memory: str) -> None:
    collection = gathered(Source(memory))
    assert captions(collection) == {name: (f"A picture called {name} .",) for name in NAMES}
    assert collection.refused == ()


@pytest.mark.usefixtures("bucket")
def test_images_elsewhere_may_be_on_s3(tmp_path: Path) -> None:
    rows = [f'{{"file_name": "{name}", "caption": "Elsewhere ."}}' for name in NAMES]
    (tmp_path / "metadata.jsonl").write_text("\n".join(rows))
    collection = gathered(Source(str(tmp_path), URL))
    assert captions(collection) == dict.fromkeys(NAMES, ("Elsewhere .",))


@pytest.mark.usefixtures("bucket")
def test_a_single_file_on_s3_has_its_folder_for_images() -> None:
    captioned, images = Source(f"{URL}/metadata.jsonl").trees()
    assert captioned.paths == ("metadata.jsonl",)
    assert images.paths == list_tree(URL).paths == tuple(sorted([*NAMES, "metadata.jsonl"]))


@pytest.mark.usefixtures("bucket")
def test_listing_takes_no_call_a_file_and_reading_takes_one(calls: list[str]) -> None:
    tree = list_tree(URL)
    assert calls == ["head_object", "list_objects_v2", "list_objects_v2"]  # is it a file, a folder; what is in it
    calls.clear()
    assert tree.open(NAMES[0]).read() == pictures(*NAMES)[NAMES[0]]
    assert calls == ["get_object"]


def digest(known: KnownFiles) -> str:
    return tree_digest(list_tree(URL), known, silent)


def test_what_has_not_changed_is_not_read_again(bucket: Any, known: KnownFiles, calls: list[str]) -> None:
    before = digest(known)
    assert calls.count("get_object") == len(NAMES) + 1
    calls.clear()
    assert digest(known) == before
    assert "get_object" not in calls
    replaced = "A picture called a c.jpg"
    bucket.put_object(Key="my set #1/a b.jpg", Body=replaced.encode())
    assert file_digests(list_tree(URL), known, silent)["a b.jpg"] == hashlib.sha256(replaced.encode()).hexdigest()
    assert calls.count("get_object") == 1
    assert digest(known) != before


def test_the_digest_is_that_of_the_same_files_on_disk(bucket: Any, known: KnownFiles, tmp_path: Path) -> None:
    for name in list_tree(URL).paths:
        (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        bucket.download_file(f"my set #1/{name}", str(tmp_path / "copy" / name))
    assert tree_digest(list_tree(str(tmp_path / "copy")), known, silent) == digest(known)


def test_a_file_that_changes_while_it_is_read_is_not_remembered(
    bucket: Any, known: KnownFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Tree.open

    def late(tree: Tree, path: str) -> Any:
        bucket.put_object(Key="my set #1/a b.jpg", Body=b"for a moment")
        stream = real(tree, path)
        bucket.put_object(Key="my set #1/a b.jpg", Body=b"in the end")
        return stream

    with monkeypatch.context() as patch:
        patch.setattr(Tree, "open", late)
        digest(known)
    content = hashlib.sha256(b"in the end").hexdigest()
    assert file_digests(list_tree(URL), known, silent)["a b.jpg"] == content


def test_a_file_that_is_gone_when_it_is_read_is_missing(bucket: Any) -> None:
    captioned, images = (Files(tree.paths, tree.open) for tree in Source(URL).trees())
    bucket.Object("my set #1/a b.jpg").delete()
    collection = gather(captioned, images, None, CollectionConfig(), workers=1, progress=silent)
    assert [(problem.kind, problem.item) for problem in collection.refused] == [("missing-image", "a b.jpg")]
    assert collection.listed == len(collection.images) + len(collection.refused) == len(NAMES)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("url", ["s3://no-such-bucket", "s3://no-such-bucket/photos"])
def test_a_bucket_that_is_not_there_is_said(url: str) -> None:
    with pytest.raises(
        StorageError, match=f"^No such file or folder: {url}; give the folder or file of a collection.$"
    ):
        list_tree(url)


@pytest.mark.usefixtures("bucket")
def test_missing_credentials_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(StorageError, match=r"Cannot read .*: Unable to locate credentials; check AWS_ACCESS_KEY_ID, "):
        list_tree(URL)


@pytest.mark.parametrize(
    ("url", "package", "extra"), [("gs://photos/a", "gcsfs", "gs"), ("s3a://photos/a", "s3fs", "s3")]
)
def test_a_missing_package_is_said(url: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(StorageError, match=rf'Cannot read {url}: .* pip install "scenekin\[{extra}\]"\.$'):
        list_tree(url)


def test_what_a_service_raises_while_a_file_is_read_is_a_problem_of_that_file(
    memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filesystem = fsspec.filesystem("memory")
    real = filesystem.cat_file

    def cat_file(place: str) -> bytes:
        if place.endswith("a b.jpg"):
            raise RuntimeError("Connection\nlost")
        content: bytes = real(place)
        return content

    monkeypatch.setattr(filesystem, "cat_file", cat_file)
    collection = gathered(Source(memory))
    assert [(problem.kind, problem.item) for problem in collection.refused] == [("unreadable-image", "a b.jpg")]
    assert collection.refused[0].detail.startswith("cannot be read: Connection lost")


def test_a_large_file_is_streamed(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = list_tree(memory)
    monkeypatch.setattr("storage.source.tree.ONE_REQUEST", 1)
    monkeypatch.setattr(tree.filesystem, "cat_file", None)
    with tree.open("a b.jpg") as stream:
        assert stream.read() == pictures(*NAMES)["a b.jpg"]
