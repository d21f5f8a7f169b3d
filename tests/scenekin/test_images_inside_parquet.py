"""Everything that is done with indexed images is done with those inside a Parquet file too."""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from tests.command import scenekin
from tests.scenekin.web.conftest import client_of, draw
from tests.trained import Trained

CAPTIONS = ["A dog .", "A cat .", "A dog again .", "A tree .", "A house ."]


def png(seed: int) -> bytes:
    stream = io.BytesIO()
    draw(seed).save(stream, "PNG")
    return stream.getvalue()


def write(file: Path, images: Sequence[bytes]) -> None:
    cells = [{"bytes": data, "path": None} for data in images]
    pq.write_table(pa.table({"image": cells, "caption": CAPTIONS[: len(images)]}), file, row_group_size=2)


def test_images_are_found_shown_and_refreshed(trained_copy: Trained, tmp_path: Path) -> None:
    file, workspace = tmp_path / "data.parquet", ("--workspace", trained_copy.workspace)
    write(file, [png(0), png(1), png(0), png(2)])
    index = "index", file, "--name", "inside", *workspace, "--json"
    assert scenekin(*index).answer["index"]["images"] == 4
    ids = [f"data.parquet/image/{row}" for row in range(5)]

    options = "--name", "inside", *workspace
    found = scenekin("search", "--id", ids[0], *options, "--json").answer["results"]
    assert [one["image_id"] for one in found[:2]] == [ids[0], ids[2]]
    assert scenekin("explain", ids[0], ids[1], "--out", tmp_path / "pair.png", *options, "--json").answer["score"] < 1
    with Image.open(tmp_path / "pair.png") as pair:
        assert pair.size > (128, 48)
    assert scenekin("search", "--ids", "all", "--out", tmp_path / "all.html", *options).code == 0
    assert (tmp_path / "all.html").read_text().count("data:image/") == 4 * (1 + 4)
    (group,) = scenekin("duplicates", "--threshold", 1, *options, "--json").answer["groups"]
    assert [image["copy_of"] for image in group["images"]] == [None, ids[0]]

    client = client_of(trained_copy, "inside")
    picture = f"/images/{quote(ids[3], safe='')}"
    assert Image.open(io.BytesIO(client.get(f"{picture}?size=thumbnail").content)).size == (64, 48)
    original = client.get(f"{picture}?size=original")
    assert (original.content, original.headers["content-type"]) == (png(2), "image/png")
    assert original.headers["content-disposition"] == "inline; filename*=UTF-8''3.png"
    assert CAPTIONS[3] in client.get("/", params={"id": ids[0]}).text

    write(file, [png(0), png(1), png(7), b"broken", png(5)])
    assert client.get(picture).status_code == 404
    refreshed = scenekin(*index, "--allow-shrink").answer
    counts = {name: refreshed["index"][name] for name in ("images", "added", "changed", "removed", "unchanged")}
    assert counts == {"images": 4, "added": 1, "changed": 1, "removed": 1, "unchanged": 2}
    assert [refusal["item"] for refusal in refreshed["refused"]] == [ids[3]]
    results = json.loads(scenekin("search", "--id", ids[2], *options, "--json").out)["results"]
    assert (results[0]["image_id"], results[0]["caption"]) == (ids[2], CAPTIONS[2])
