import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from PIL import Image
from starlette.testclient import TestClient

from scenekin.web.app import create_app
from storage.workspace import Workspace
from tests.scenekin.web.conftest import NAMES, TURNED, an_id, client_of, draw, serving
from tests.trained import Trained


def picture(client: TestClient, image_id: str, size: str = "picture") -> Image.Image:
    response = client.get(f"/images/{quote(image_id, safe='')}", params={"size": size})
    assert (response.status_code, response.headers["content-type"]) == (200, "image/jpeg"), response.text
    return Image.open(io.BytesIO(response.content))


def test_any_name_is_served(odd: Trained) -> None:
    with serving(create_app(Workspace(odd.workspace))) as address:  # the test client decodes names twice
        for name in NAMES:
            for written in (quote(name, safe=""), quote(name)):  # slashes may stand as they are
                with urlopen(f"{address}/images/{written}") as response, Image.open(response) as image:
                    assert image.size == (64, 48)


def test_pictures_are_upright(odd: Trained) -> None:
    shown = picture(client_of(odd), TURNED)
    assert shown.size == (40, 60)
    assert not shown.getexif()


def test_thumbnails_are_small(trained_copy: Trained) -> None:
    draw(1, 2400, 1200).save(trained_copy.collection / "large.jpg")
    assert trained_copy.run("index", "--name", "large").code == 0
    client = client_of(trained_copy, "large")
    assert picture(client, "large.jpg", "thumbnail").size == (480, 240)
    assert picture(client, "large.jpg").size == (1600, 800)


def test_originals_are_the_indexed_files(odd: Trained) -> None:
    with serving(create_app(Workspace(odd.workspace))) as address:
        for name in NAMES:
            with urlopen(f"{address}/images/{quote(name, safe='')}?size=original") as response:
                assert response.read() == (odd.collection / name).read_bytes()
                assert response.headers["content-type"] == ("image/png" if name.endswith("png") else "image/jpeg")
                file_name = quote(name.rpartition("/")[2], safe="")
                assert response.headers["content-disposition"] == f"inline; filename*=UTF-8''{file_name}"


def test_originals_that_browsers_do_not_display_are_downloaded(trained_copy: Trained) -> None:
    draw(2).save(trained_copy.collection / "page.html", "TIFF")
    draw(3).save(trained_copy.collection / "scan.tif")
    assert trained_copy.run("index", "--name", "tiff").code == 0
    client = client_of(trained_copy, "tiff")
    response = client.get("/images/scan.tif?size=original")
    assert response.headers["content-type"] == "application/octet-stream"
    assert response.headers["content-disposition"] == "attachment; filename*=UTF-8''scan.tif"
    assert client.get("/images/page.html?size=original").status_code == 404  # never indexed


def test_an_unchanged_image_is_not_sent_again(client: TestClient, trained: Trained) -> None:
    address = f"/images/{an_id(trained)}"
    tag = client.get(address).headers["etag"]
    again = client.get(address, headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(address, params={"size": "thumbnail"}).headers["etag"] != tag


@pytest.mark.parametrize(
    "name",
    ["no.jpg", "../workspace/mlflow.db", "..%2F..%2F..%2Fetc%2Fpasswd", "/etc/passwd", "%2Fetc%2Fpasswd", "%00", "."],
)
def test_other_paths_are_not_found(client: TestClient, name: str) -> None:
    response = client.get(f"/images/{name}")
    assert response.status_code == 404
    assert response.json().keys() == {"detail"}


def test_files_that_are_not_indexed_are_not_served(client: TestClient, trained: Trained) -> None:
    for name in ("train/metadata.jsonl", "train/zz-broken.jpg"):
        assert (trained.collection / name).is_file()
        assert client.get(f"/images/{name}").status_code == 404


def to_a_secret(file: Path) -> None:
    secret = file.parent / "secret.txt"
    secret.write_text("secret")
    file.symlink_to(secret)


def to_another_picture(file: Path) -> None:
    draw(77).save(file.parent / "private.png")
    file.symlink_to(file.parent / "private.png")


def to_a_device(file: Path) -> None:
    file.symlink_to("/dev/zero")


def to_nothing(_: Path) -> None:
    pass


@pytest.mark.parametrize("put", [to_a_secret, to_another_picture, os.mkfifo, to_a_device, Path.mkdir, to_nothing])
def test_a_file_replaced_since_indexing_is_not_served(
    odd: Trained, tmp_path: Path, put: Callable[[Path], object]
) -> None:
    file = odd.collection / "deep" / "er" / "plain.jpg"
    kept = file.rename(tmp_path / "kept.jpg")
    try:
        put(file)
        client = client_of(odd)
        for address in ("/images/deep/er/plain.jpg", f"/api/explain?a={TURNED}&b=deep/er/plain.jpg"):
            response = client.get(address)
            assert response.status_code == 404
            assert (
                "The file of 'deep/er/plain.jpg' is missing or has changed since it was indexed"
                in response.json()["detail"]
            )
    finally:
        if file.is_dir():
            file.rmdir()
        file.unlink(missing_ok=True)
        kept.rename(file)


def test_a_link_that_was_indexed_is_served(trained_copy: Trained, tmp_path: Path) -> None:
    draw(3).save(tmp_path / "elsewhere.png")
    (trained_copy.collection / "linked.png").symlink_to(tmp_path / "elsewhere.png")
    refused = trained_copy.run("index", "--name", "unlinked").answer["refused"]
    assert "--follow-links" in {refusal["item"]: refusal["reason"] for refusal in refused}["linked.png"]
    assert trained_copy.run("index", "--name", "linked", "--follow-links").code == 0
    client = client_of(trained_copy, "linked")
    assert picture(client, "linked.png").size == (64, 48)
    public = client_of(trained_copy, "linked")
    cast(Any, public.app).state.index.follow_links = False
    assert public.get("/images/linked.png").status_code == 404


def test_an_unknown_size_is_named_with_the_known_ones(client: TestClient, trained: Trained) -> None:
    response = client.get(f"/images/{an_id(trained)}", params={"size": "huge"})
    assert response.status_code == 422
    assert response.json() == {"detail": "size must be 'thumbnail', 'picture' or 'original', not 'huge'."}
