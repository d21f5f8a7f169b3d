"""Results of a batch search as Parquet, CSV and HTML."""

import csv
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scenekin import InputError, Searcher, contact_sheet
from scenekin.batch_search import search_index
from scenekin.outputs import without_formulas
from scenekin.result_files import RESULTS, results_writer
from tasks.search.words import Words
from tests.command import Outcome, scenekin
from tests.trained import Trained


@pytest.fixture(scope="module")
def searcher(trained: Trained) -> Searcher:
    return Searcher.open(trained.workspace)


@pytest.fixture
def search(trained: Trained) -> Callable[..., Outcome]:
    return lambda *arguments: scenekin("search", *arguments, "--workspace", trained.workspace)


def test_csv_has_the_rows_of_parquet(search: Callable[..., Outcome], tmp_path: Path, trained: Trained) -> None:
    for suffix in ("csv", "parquet"):
        assert search(trained.collection / "test", "--out", tmp_path / f"out.{suffix}", "--top", 3).code == 0
    expected = pq.read_table(tmp_path / "out.parquet").to_pylist()
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 21 * 3
    searcher = Searcher.open(trained.workspace)
    assert [row["caption"] for row in expected] == [searcher.caption_of(row["image_id"]) for row in expected]
    assert {None} < {row["caption"] for row in expected}
    for row, wanted in zip(rows, expected, strict=True):
        assert (row["query"], row["image_id"], row["path"]) == (wanted["query"], wanted["image_id"], wanted["path"])
        assert row["caption"] == (wanted["caption"] or "")
        assert (int(row["rank"]), float(row["score"])) == (wanted["rank"], pytest.approx(wanted["score"], abs=1e-6))


def test_cells_of_csv_are_never_formulas(searcher: Searcher, tmp_path: Path) -> None:
    names = ["=1+1.jpg", "+1.jpg", "-1.jpg", "@SUM(A1).jpg", "\t=1.jpg", "a=1.jpg", "'a.jpg", ""]
    columns = [names, [1] * 8, names, names, [-0.5] * 8, names]
    batch = pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, RESULTS, strict=True)], RESULTS
    )
    with results_writer(searcher, tmp_path / "out.csv", Words(), lambda _: None) as write:
        write(batch)
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    harmless = ["'=1+1.jpg", "'+1.jpg", "'-1.jpg", "'@SUM(A1).jpg", "'\t=1.jpg", "a=1.jpg", "'a.jpg", ""]
    assert [row["path"] for row in rows] == [row["query"] for row in rows] == harmless
    assert [row["caption"] for row in rows] == harmless
    assert {row["score"] for row in rows} == {"-0.5"}  # a number stays one
    assert without_formulas(batch.slice(5)).equals(batch.slice(5))


def test_a_contact_sheet_opens_offline_and_shows_queries_and_results(
    search: Callable[..., Outcome], searcher: Searcher, tmp_path: Path, trained: Trained
) -> None:
    image = sorted((trained.collection / "train").glob("*.jpg"))[0]
    answer = search(image, "--out", tmp_path / "sheet.html", "--top", 4)
    assert answer.out.startswith("Results of 1 query written to ")
    page = (tmp_path / "sheet.html").read_text()
    assert page.lower().startswith("<!doctype html>")
    sources = re.findall(r'src="([^"]*)"', page)
    assert len(sources) == 5
    assert all(source.startswith("data:image/jpeg;base64,") for source in sources)
    assert not re.search(r"https?://|<script|<link", page)
    for result in searcher.search(image, top=4):
        assert f"· {result.score:.3f}<br>{result.path}" in page
        caption = searcher.caption_of(result.image_id)
        assert caption is None or f"<small>{caption}</small>" in unescape(page)


def test_a_text_and_an_id_are_written_too(search: Callable[..., Outcome], searcher: Searcher, tmp_path: Path) -> None:
    text = '<script>alert("boat")</script>'
    assert search("--text", text, "--out", tmp_path / "text.html").code == 0
    page = (tmp_path / "text.html").read_text()
    assert "<script" not in page
    assert (text in unescape(page), page.count("<img")) == (True, 10)
    assert "Words added" not in page
    word, other = "boat", "house"
    search("--id", searcher.image_ids[3], "--add", word, "--remove", other, "--out", tmp_path / "words.html")
    page = (tmp_path / "words.html").read_text()
    assert f"Words added: {word}. " in page
    assert f"Words removed: {other}." in page
    search("--id", searcher.image_ids[3], "--out", tmp_path / "id.parquet", "--top", 5)
    rows = pq.read_table(tmp_path / "id.parquet")
    assert set(rows["query"].to_pylist()) == {searcher.image_ids[3]}
    assert rows["image_id"].to_pylist() == [
        each.image_id for each in searcher.search(image_id=searcher.image_ids[3], top=5)
    ]


def test_a_picture_that_is_missing_leaves_a_gap(trained_copy: Trained, tmp_path: Path) -> None:
    searcher = Searcher.open(trained_copy.workspace)
    searcher.manifest = searcher.manifest.model_copy(update={"images_root": str(trained_copy.collection)})
    Path(searcher.location_of(searcher.image_ids[0])).unlink()
    search_index(searcher, tmp_path / "sheet.html", Words(), 1)
    page = (tmp_path / "sheet.html").read_text()
    assert page.count("file missing or changed") == 2  # found by itself and by its copy
    assert page.count("<section>") == 141


def test_a_sheet_too_large_to_open_is_refused_before_the_work(
    searcher: Searcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contact_sheet, "SHEET_PICTURES", 281)
    with pytest.raises(InputError, match=r"A contact sheet holds at most 281 images, not 282; use fewer queries"):
        search_index(searcher, tmp_path / "sheet.html", Words(), 1)
    assert list(tmp_path.iterdir()) == []
