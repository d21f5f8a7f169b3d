import codecs
import json
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from scenekin import Searcher
from scenekin.queries import list_queries
from tests.command import scenekin
from tests.trained import Trained


def test_groups_are_what_cosines_say_and_copies_are_told_apart(trained: Trained, tmp_path: Path) -> None:
    workspace = ("--workspace", trained.workspace)
    searcher = Searcher.open(trained.workspace)
    out = tmp_path / "report.parquet"
    answer = scenekin("duplicates", "--threshold", 0.9, "--out", out, *workspace, "--json").answer
    assert answer["index"] == {"name": "main", "version": 1, "images": 141}
    assert (answer["threshold"], answer["copies"]) == (0.9, 1)
    members = [image for group in answer["groups"] for image in group["images"]]
    embedding_ND = searcher.embeddings_of(slice(None)).astype(np.float64)
    cosine_NN = embedding_ND @ embedding_ND.T
    np.fill_diagonal(cosine_NN, 0)
    alike = {searcher.image_ids[row] for row in np.flatnonzero((cosine_NN >= 0.9).any(axis=1))}
    assert {image["image_id"] for image in members} == alike
    original = sorted((trained.collection / "test").glob("*.jpg"))[0].name
    (copy,) = (image for image in members if image["copy_of"])
    assert (copy["image_id"], copy["copy_of"], copy["score"]) == (f"test/{original}", "extra/copy.jpg", 1)
    for image in members:
        row, nearest = (searcher.image_ids.index(image[key]) for key in ("image_id", "nearest"))
        assert image["score"] == pytest.approx(min(1, cosine_NN[row, nearest]), abs=2e-3)
        assert image["score"] >= min(1, cosine_NN[row].max()) - 2e-3
    sizes = [group["size"] for group in answer["groups"]]
    assert sizes == sorted((len(group["images"]) for group in answer["groups"]), reverse=True)
    rows = pq.read_table(out)
    assert [image["image_id"] for image in members] == rows["image_id"].to_pylist()
    assert rows["group"].to_pylist() == [number for number, size in enumerate(sizes, start=1) for _ in range(size)]


def test_the_report_may_be_csv_and_people_are_told(trained: Trained, tmp_path: Path) -> None:
    out = tmp_path / "report.csv"
    told = scenekin("duplicates", "--threshold", 1, "--out", out, "--workspace", trained.workspace)
    assert told.code == 0
    assert ": exact copy of extra/copy.jpg" in told.out
    assert out.read_bytes().startswith(codecs.BOM_UTF8 + b'"group",')  # spreadsheets recognise UTF-8 by it
    assert pyarrow.csv.read_csv(out)["image_id"].to_pylist()[0] == "extra/copy.jpg"
    listed = list_queries(out, "image_id").names
    assert len(listed) == 2
    assert "extra/copy.jpg" in listed


def test_the_report_may_be_a_contact_sheet(trained: Trained, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    answer = scenekin("duplicates", "--threshold", 0.9, "--out", out, "--workspace", trained.workspace, "--json").answer
    page = out.read_text()
    assert page.count("<section>") == len(answer["groups"])
    assert page.count('<img src="data:image/jpeg;base64,') == sum(group["size"] for group in answer["groups"])
    assert "exact copy of extra/copy.jpg<br>test/" in page.replace("\n", "")
    assert f"<h2>Group 1: {answer['groups'][0]['size']} images</h2>" in page


def test_images_that_are_no_longer_there_are_a_warning(trained_copy: Trained) -> None:
    for file in trained_copy.workspace.glob("index/main/*/manifest.json"):
        manifest = json.loads(file.read_text())
        file.write_text(json.dumps(manifest | {"images_root": "/none"}))
    outcome = scenekin("duplicates", "--threshold", 1, "--workspace", trained_copy.workspace)
    assert outcome.code == 0
    assert "The images of the index were in /none, which no longer exists; if they were moved, " in outcome.err


def test_another_kind_of_file_is_refused_before_any_work(trained: Trained, tmp_path: Path) -> None:
    out = tmp_path / "report.txt"
    refused = scenekin("duplicates", "--out", out, "--workspace", trained.workspace)
    assert "the name must end in .csv, .html or .parquet." in refused.usage_error
