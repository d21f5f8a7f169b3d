import pytest

from storage.errors import StorageError
from storage.source.credentials import without_credentials
from storage.source.tree import Source, list_tree, read_below
from storage.workspace import Workspace
from tests.indexes import publish_images

SECRET = "sw0rdfish"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"s3://key:{SECRET}@photos/summer", "s3://photos/summer"),
        (f"s3://key:{SECRET}/with/slashes+@photos/summer", "s3://photos/summer"),
        (f"https://user:p@{SECRET}@host:8080/a@b.jpg", "https://host:8080/a@b.jpg"),
        (f"https://{SECRET}@host/photos", "https://host/photos"),
        (f"sftp://user:12{SECRET}@host:22/a", "sftp://host:22/a"),
        (f"simplecache::sftp://user:{SECRET}@host/a", "simplecache::sftp://host/a"),
        (f"https://host/a?x=1&sig={SECRET}&y=2", "https://host/a?x=1&sig=***&y=2"),
        (f"https://host/a?X-Amz-Signature={SECRET}", "https://host/a?X-Amz-Signature=***"),
        (f"https://host/a?access_token={SECRET}#1", "https://host/a?access_token=***#1"),
        ("s3://photos/my set #1/a@b?.jpg", "s3://photos/my set #1/a@b?.jpg"),
        ("sftp://host:22/a@b", "sftp://host:22/a@b"),
        ("/archive/user:secret@photos", "/archive/user:secret@photos"),
    ],
)
def test_credentials_are_removed_and_nothing_else(url: str, shown: str) -> None:
    assert without_credentials(url) == shown
    sentence = f"Cannot open {url} now, nor {url}"
    assert without_credentials(sentence) == f"Cannot open {shown} now, nor {shown}"


def test_a_collection_is_known_without_its_credentials() -> None:
    source = Source(f"s3://key:{SECRET}@photos")
    assert (source.address, source.name) == ("s3://photos", "photos")


@pytest.mark.parametrize("url", [f"nonsense://user:{SECRET}@host/a", f"s3a://key:{SECRET}@host/a"])
def test_errors_do_not_show_them(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(address: str) -> None:
        raise PermissionError(f"Not allowed: {address}")

    if url.startswith("s3a"):
        monkeypatch.setattr("fsspec.core.url_to_fs", refuse)
    with pytest.raises(StorageError) as listed:
        list_tree(url)
    with pytest.raises(OSError, match=r"Protocol not known|Not allowed") as read:
        read_below(url, "a.jpg")
    assert SECRET not in f"{listed.value}{read.value}"


def test_they_are_not_stored(tmp_path_factory: pytest.TempPathFactory) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("workspace"))
    place = f"s3://key:{SECRET}@photos"
    manifest = publish_images(workspace, collection=place, images_root=place)
    assert (manifest.collection, manifest.images_root) == ("s3://photos", "s3://photos")
    assert SECRET not in (workspace.index / "main" / "1" / "manifest.json").read_text()
