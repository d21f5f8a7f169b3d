from pathlib import Path

import pytest

from storage.index.images import read_image
from storage.index.manifest import Manifest
from storage.workspace import Workspace
from tests.indexes import publish_images


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "workspace")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """A folder with an image, links to it, and links out of it."""
    folder = tmp_path / "photos"
    (folder / "below").mkdir(parents=True)
    (folder / "0.jpg").write_bytes(b"image")
    (folder / "below" / "inside.jpg").symlink_to("../0.jpg")
    (tmp_path / "secret.jpg").write_bytes(b"secret")
    (folder / "out.jpg").symlink_to("../secret.jpg")
    return folder


def published(workspace: Workspace, photos: Path, follow_links: bool) -> Manifest:
    return publish_images(workspace, images_root=str(photos), follow_links=follow_links)


def test_links_that_lead_out_are_followed_only_by_choice(workspace: Workspace, photos: Path) -> None:
    manifest = published(workspace, photos, follow_links=False)
    for path in ("0.jpg", "below/inside.jpg"):
        assert read_image(manifest, path) == b"image"
    for path in ("out.jpg", "../secret.jpg", str(photos.parent / "secret.jpg")):
        with pytest.raises(OSError, match="a link leads out of the collection"):
            read_image(manifest, path)
    followed = published(workspace, photos, follow_links=True)
    assert followed.version == manifest.version + 1
    assert read_image(followed, "out.jpg") == b"secret"
    with pytest.raises(OSError, match="a link leads out of the collection"):
        read_image(followed, "out.jpg", follow_links=False)
    assert read_image(followed, "below/inside.jpg", follow_links=False) == b"image"


@pytest.mark.parametrize(
    ("collection", "images_root", "requested"),
    [
        ("https://host/photos", "https://host/photos", True),
        ("https://host/photos/captions.json", "https://host/photos", True),
        ("https://host/photos", "https://host", True),
        ("/photos", "http://169.254.169.254/latest", False),
        ("https://host/photos", "https://host.evil/photos", False),
        ("https://host/photos", "ftp://host/photos", False),
        ("/captions.json", "simplecache::http://10.0.0.1/a", False),
        ("/captions.json", "s3://photos", True),
        ("/captions.json", "memory://photos", True),
    ],
)
def test_only_the_collections_own_images_are_requested(
    collection: str, images_root: str, requested: bool, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[str] = []

    def read(address: str, path: str) -> bytes:
        requests.append(f"{address}/{path}")
        return b"image"

    monkeypatch.setattr("storage.index.images.read_below", read)
    manifest = publish_images(workspace, collection=collection, images_root=images_root)
    if requested:
        assert read_image(manifest, "0.jpg") == b"image"
        assert requests == [f"{images_root}/0.jpg"]
    else:
        with pytest.raises(OSError, match="not requested, because it is not the collection's own folder"):
            read_image(manifest, "0.jpg")
        assert requests == []
