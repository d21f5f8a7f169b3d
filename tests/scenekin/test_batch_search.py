from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from scenekin import Searcher, batch_search
from scenekin.batch_search import search_files, search_index
from scenekin.queries import list_queries
from tasks.errors import InputError
from tasks.search.words import Words
from tests.command import scenekin
from tests.trained import Trained


@pytest.fixture(scope="module")
def searcher(trained: Trained) -> Searcher:
    return Searcher.open(trained.workspace)


@contextmanager
def at_once(count: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch_search, "QUERIES_AT_ONCE", count)
        patch.setattr(batch_search, "BATCH", 2)
        yield


def test_each_image_of_a_list_is_answered_as_alone(searcher: Searcher, trained: Trained, tmp_path: Path) -> None:
    images = sorted((trained.collection / "train").glob("*.jpg"))[:3]
    (tmp_path / "bad.jpg").write_bytes(b"no picture")
    names = [str(images[1]), str(images[0]), str(tmp_path / "bad.jpg"), "none.jpg", str(images[2]), str(images[0])]
    (tmp_path / "list.txt").write_text("\n".join(names))
    word = "boat"
    with at_once(4):
        done = search_files(
            searcher, list_queries(tmp_path / "list.txt"), tmp_path / "out.parquet", searcher.words([word]), 4
        )
    assert (done.listed, done.answered) == (6, 4)
    assert [refusal["item"] for refusal in done.refused] == [names[2], "none.jpg"]
    rows = pq.read_table(tmp_path / "out.parquet")
    assert rows["query"].to_pylist() == [name for name in [*names[:2], *names[4:]] for _ in range(4)]
    for start, name in zip(range(0, 16, 4), [*names[:2], *names[4:]], strict=True):
        alone = searcher.search(name, add=[word], top=4)
        found = rows.slice(start, 4).to_pylist()
        assert [row["rank"] for row in found] == [1, 2, 3, 4]
        assert [(row["image_id"], row["path"]) for row in found] == [(one.image_id, one.path) for one in alone]
        assert [row["score"] for row in found] == pytest.approx([one.score for one in alone], abs=1e-4)


def test_the_index_asks_for_itself(searcher: Searcher, tmp_path: Path) -> None:
    with at_once(50):
        done = search_index(searcher, tmp_path / "out.parquet", Words(), 2)
    rows = pq.read_table(tmp_path / "out.parquet")
    assert done.listed == done.answered == searcher.manifest.images == rows.num_rows / 2
    assert rows["query"].to_pylist()[::2] == searcher.image_ids
    np.testing.assert_allclose(rows["score"].to_numpy()[::2], 1, atol=2e-3)
    assert rows.schema.metadata[b"index_version"] == b"1"


def test_a_file_is_written_whole_or_not_at_all(
    searcher: Searcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out.parquet").write_text("the old one")
    monkeypatch.setattr(batch_search, "_results", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        search_index(searcher, tmp_path / "out.parquet", Words())
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"out.parquet": "the old one"}


def test_the_command_lists_what_it_refused(trained: Trained, tmp_path: Path) -> None:
    images = sorted((trained.collection / "train").glob("*.jpg"))
    (tmp_path / "list.csv").write_text(f"file\n{images[0]}\n{images[-1]}\n")
    out, workspace = tmp_path / "out.parquet", ("--workspace", trained.workspace)
    answer = scenekin("search", tmp_path / "list.csv", "--out", out, "--add", "zeppelin", *workspace, "--json").answer
    assert (answer["listed"], answer["answered"], answer["out"]) == (2, 1, str(out))
    assert answer["refused"] == [{"item": str(images[-1]), "reason": "not an image, or of an unknown type"}]
    assert answer["query"]["unknown_terms"] == ["zeppelin"]
    assert pq.read_table(out).num_rows == 10
    assert (
        "Results of 1 of 2 queries written to "
        in scenekin("search", tmp_path / "list.csv", "--out", out, *workspace).out
    )
    told = scenekin("search", "--ids", "all", "--out", out, "--top", 1, *workspace)
    assert "Results of 141 queries written to " in told.out


def test_an_image_is_a_list_of_one(trained: Trained, searcher: Searcher, tmp_path: Path) -> None:
    image = sorted((trained.collection / "train").glob("*.jpg"))[0]
    done = search_files(searcher, list_queries(image), tmp_path / "out.parquet", Words(), 3)
    assert (done.listed, done.answered) == (1, 1)
    rows = pq.read_table(tmp_path / "out.parquet")
    assert rows["image_id"].to_pylist() == [result.image_id for result in searcher.search(image, top=3)]


def test_where_no_query_can_be_used_nothing_is_written(searcher: Searcher, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("none.jpg\nnowhere.jpg\n")
    with pytest.raises(InputError, match=r"^No usable query: none\.jpg: No such file or directory \(and 1 more\)\.$"):
        search_files(searcher, list_queries(tmp_path / "list.txt"), tmp_path / "out.parquet", Words())
    assert [path.name for path in tmp_path.iterdir()] == ["list.txt"]


def test_longer_results_are_found_for_fewer_queries_at_once(
    searcher: Searcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search_index(searcher, tmp_path / "whole.parquet", Words(), 7)
    monkeypatch.setattr(batch_search, "RESULTS_AT_ONCE", 20)
    search_index(searcher, tmp_path / "parts.parquet", Words(), 7)
    whole, parts = (pq.ParquetFile(tmp_path / f"{name}.parquet") for name in ("whole", "parts"))
    assert whole.read().equals(parts.read())
    assert [list(batch_search._parts(5, top)) for top in (7, 50)] == [
        [slice(0, 2), slice(2, 4), slice(4, 6)],
        [slice(start, start + 1) for start in range(5)],
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Give exactly one query"),
        (["words.txt", "--id", "x"], "Give exactly one query"),
        (["--text", "dog", "--explain", "folder"], "--explain needs a single image"),
        (["--out", "o.parquet"], "Give exactly one query"),
        (["--ids", "all"], "set --out"),
        (["--ids", "some", "--out", "o.parquet"], "--ids takes the word all, not 'some'"),
        ([".", "--text", "dog", "--out", "o.parquet"], "Give exactly one query"),
        ([".", "--explain", "folder", "--out", "o.parquet"], "and no --out"),
        ([".", "--out", "o.txt"], "Cannot write o.txt: the name must end in .csv, .html or .parquet."),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(trained: Trained, arguments: list[str], sentence: str) -> None:
    assert sentence in scenekin("search", *arguments, "--workspace", trained.workspace).usage_error
    assert not Path("o.parquet").exists()


def test_files_that_cannot_be_used_are_named(trained: Trained) -> None:
    sentence = scenekin("search", "none", "--out", "o.parquet", "--workspace", trained.workspace).sentence
    assert "No such file: 'none'" in sentence
