import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from scenekin import MissingImage, Result, Searcher
from storage.errors import StorageError
from storage.models import refer_to_model
from storage.workspace import Workspace
from tasks.embedding.embed import embed_images
from tasks.errors import InputError
from tasks.features.descriptors import load_descriptors, project
from tasks.images.loader import Refusal
from tasks.images.preprocess import Inputs, to_inputs
from tasks.model.architectures import block_channels
from tasks.model.persistence import load
from tasks.model.scene_model import SceneModel
from tests.command import scenekin
from tests.shared import case, with_shared
from tests.trained import Trained, mlflow_client


@pytest.fixture(scope="module")
def searcher(trained: Trained) -> Searcher:
    return Searcher.open(trained.workspace)


@pytest.fixture(scope="module")
def query(trained: Trained) -> Path:
    """An image that is indexed, and of which there is no copy."""
    return sorted((trained.collection / "train").glob("*.jpg"))[0]


def test_an_indexed_file_finds_itself_first(searcher: Searcher, trained: Trained, query: Path) -> None:
    results = searcher.search(query)
    assert (results[0].rank, results[0].image_id) == (1, query.relative_to(trained.collection).as_posix())
    assert 0.999 <= results[0].score <= 1
    assert (trained.collection / results[0].path).read_bytes() == query.read_bytes()


def test_results_come_best_first(searcher: Searcher, query: Path) -> None:
    results = searcher.search(query, top=20)
    assert [result.rank for result in results] == list(range(1, 21))
    assert sorted(results, key=lambda result: (-result.score, result.image_id)) == results
    assert all(-1.001 <= result.score <= 1.001 for result in results)
    assert searcher.search(query) == results[:10]


def test_file_bytes_and_id_ask_the_same(searcher: Searcher, trained: Trained, query: Path) -> None:
    by_file = searcher.search(query)
    by_id = searcher.search(image_id=query.relative_to(trained.collection).as_posix())
    assert searcher.search(str(query)) == searcher.search(query.read_bytes()) == by_file
    assert [result.image_id for result in by_id] == [result.image_id for result in by_file]
    assert [result.score for result in by_id] == pytest.approx([result.score for result in by_file], abs=2e-3)


def test_equal_scores_come_by_id(searcher: Searcher, trained: Trained) -> None:
    original = sorted((trained.collection / "test").glob("*.jpg"))[0]
    first, second = searcher.search(original, top=2)
    assert first.score == second.score
    assert [first.image_id, second.image_id] == ["extra/copy.jpg", f"test/{original.name}"]


def test_no_more_is_found_than_there_is(searcher: Searcher, query: Path) -> None:
    assert len(searcher.search(query, top=1000)) == searcher.manifest.images == 141


def test_a_picture_is_what_it_shows(searcher: Searcher, query: Path, tmp_path: Path) -> None:
    turned = tmp_path / "turned.png"
    exif = Image.Exif()
    exif[0x0112] = 6  # shown turned clockwise by a quarter
    with Image.open(query) as image:
        image.transpose(Image.Transpose.ROTATE_90).save(turned, exif=exif)
    np.testing.assert_array_equal(searcher.embed(turned), searcher.embed(query))


def test_a_query_goes_the_way_of_the_index(searcher: Searcher, query: Path, trained: Trained) -> None:
    indexed_D = searcher.embedding_of(query.relative_to(trained.collection).as_posix())
    np.testing.assert_allclose(searcher.embed(query), indexed_D, atol=1e-3)


def test_an_image_or_an_id_is_needed(searcher: Searcher, query: Path) -> None:
    for arguments in ({}, {"image": query, "image_id": "x"}):
        with pytest.raises(InputError, match="Give exactly one query: an image, the id"):
            searcher.search(**arguments)  # type: ignore[arg-type]


def test_what_is_no_image_is_named(searcher: Searcher, tmp_path: Path) -> None:
    (tmp_path / "text.jpg").write_text("hello")
    for image, words in (
        (tmp_path / "none.jpg", f"^No such file: '{tmp_path / 'none.jpg'}'.$"),
        (tmp_path, f"Cannot read '{tmp_path}': Is a directory"),
        (tmp_path / "text.jpg", f"Cannot decode '{tmp_path / 'text.jpg'}': not an image, or of an unknown type"),
        (b"hello", "Cannot decode the image: not an image, or of an unknown type"),
        (b"", "empty file"),
    ):
        with pytest.raises(InputError, match=words):
            searcher.search(image)
    with pytest.raises(InputError, match="No image 'nobody' in the index 'main'"):
        searcher.search(image_id="nobody")


def test_an_index_has_to_be_there(trained: Trained, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no index 'other'"):
        Searcher.open(trained.workspace, "other")
    with pytest.raises(StorageError, match="No such workspace"):
        Searcher.open(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_the_environment_may_name_the_workspace(
    trained: Trained, query: Path, monkeypatch: pytest.MonkeyPatch, searcher: Searcher
) -> None:
    monkeypatch.setenv("SCENEKIN_HOME", str(trained.workspace))
    assert Searcher.open().search(query) == searcher.search(query)


def test_the_raw_file_is_only_a_shortcut(trained_copy: Trained, query: Path, searcher: Searcher) -> None:
    raw = next((trained_copy.workspace / "index" / "main" / "1").glob("vectors.*"))
    raw.unlink()
    results: list[Result] = Searcher.open(trained_copy.workspace).search(query)
    assert results == searcher.search(query)
    assert raw.exists()


def test_an_open_searcher_goes_over_to_a_new_version(trained_copy: Trained, query: Path) -> None:
    assert trained_copy.run("index", "--name", "copy").code == 0
    searcher = Searcher.open(trained_copy.workspace, "copy")
    assert searcher.current() is searcher
    before, network = searcher.search(query), searcher.model
    shutil.copy(query, trained_copy.collection / "zz.jpg")
    assert trained_copy.run("index", "--name", "copy").code == 0
    newer = searcher.current()
    assert (newer.manifest.version, newer.manifest.images) == (2, 142)
    assert newer.current() is newer
    assert newer.model is network
    assert {result.image_id for result in newer.search(query, top=2)} == {before[0].image_id, "zz.jpg"}
    assert searcher.search(query) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (shutil.rmtree, "is missing or incomplete"),
        (lambda folder: (folder / "model.safetensors").unlink(), "is missing or incomplete"),
        (lambda folder: (folder / "text.safetensors").unlink(), "does not match its recorded digest"),
        (
            lambda folder: (folder / "config.json").write_text(
                (folder / "config.json").read_text().replace("96", "64")
            ),
            "does not match its recorded digest",
        ),
    ],
)
def test_vectors_of_two_models_never_mix(
    change: Callable[[Path], object], words: str, trained_copy: Trained, query: Path
) -> None:
    searcher = Searcher.open(trained_copy.workspace)
    folder = trained_copy.workspace / searcher.manifest.model.reference.path
    change(folder)
    for asked in ({"image": query}, {"text": "a dog"}):
        with pytest.raises(
            StorageError, match=rf"{folder} {words}; run `scenekin train COLLECTION` and `scenekin index"
        ):
            searcher.search(**asked)  # type: ignore[arg-type]
    sentence = trained_copy.run("index", "--name", "copy").sentence
    assert f"{folder} {words}; run `scenekin train COLLECTION`" in sentence
    assert trained_copy.train().code == 0
    assert searcher.search(query)[0].image_id == query.relative_to(query.parents[1]).as_posix()


def test_features_at_hand_and_the_whole_network_agree(trained: Trained) -> None:
    images = pq.read_table(next((trained.workspace / "artifacts/collection").glob("*/captioned/validation.parquet")))[
        :8
    ]
    digests = images["sha256"].to_pylist()
    features = next(
        file.parent
        for file in (trained.workspace / "artifacts/features").glob("*/gap.parquet")
        if set(digests) <= set(pq.read_table(file, columns=["sha256"])["sha256"].to_pylist())
    )
    for folder in (trained.workspace / "models").iterdir():
        model = load(folder)
        config = model.config
        frozen_ND = project(
            model.head,
            load_descriptors([features], digests, config.pooling, block_channels(config.backbones, config.pooling)),
        )
        with torch.inference_mode():
            whole_ND = torch.stack(
                [model.embed_one(inputs(trained, path, model)) for path in images["path"].to_pylist()]
            )
        assert float((frozen_ND * whole_ND).sum(1).min()) > 0.9999
    assert len(list((trained.workspace / "models").iterdir())) == 2


def inputs(trained: Trained, path: str, model: SceneModel) -> Inputs:
    return to_inputs((trained.collection / path).read_bytes(), model.config.preprocessings)


SERVE = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in repr(finder).lower()]
from importlib.util import find_spec
assert [name for name in ("tasks", "storage", "flows", "scenekin") if find_spec(name)] == []
import types
sys.modules["tasks"] = types.ModuleType("tasks")  # a user's own module of that name
sys.modules["tasks"].THEIRS = True
import mlflow, numpy, pandas
from pathlib import Path
uri, images, out = sys.argv[1], sys.argv[2:-1], sys.argv[-1]
mlflow.set_tracking_uri(uri)
model = mlflow.pyfunc.load_model("models:/scenekin@champion")
frame = pandas.DataFrame({"image": [Path(image).read_bytes() for image in images]})
numpy.save(out, model.predict(frame))
assert sys.modules["tasks"].THEIRS
assert any(name.startswith("scenekin_model_") for name in sys.modules)
assert [name for name in ("storage", "flows", "scenekin", "prefect") if name in sys.modules] == []
"""


def serve(trained: Trained, images: Sequence[Path], out: Path) -> np.ndarray:
    """embedding_ND by plain MLflow in a process that has no scenekin."""
    uri = f"sqlite:///{trained.workspace / 'mlflow.db'}"
    script = [sys.executable, "-I", "-c", SERVE, uri, *map(str, images), str(out)]
    done = subprocess.run(script, cwd=out.parent, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    embedding_ND: np.ndarray = np.load(out)
    return embedding_ND


def test_plain_mlflow_serves_the_model_without_the_project(
    trained: Trained, searcher: Searcher, tmp_path: Path
) -> None:
    images = [trained.collection / path for path in searcher.paths[:3]]
    embedding_ND = serve(trained, images, tmp_path / "embeddings.npy")
    assert embedding_ND.dtype == np.float32
    indexed_ND = np.stack([searcher.embedding_of(image_id) for image_id in searcher.image_ids[:3]])
    np.testing.assert_allclose(embedding_ND, indexed_ND, atol=1e-3)


def test_a_model_holds_no_path_of_where_it_was_trained(trained: Trained, searcher: Searcher) -> None:
    """P18: it loads anywhere, as the test before does in a process and a folder of its own."""
    reference = searcher.manifest.model.reference
    assert not Path(reference.path).is_absolute()
    for file in (trained.workspace / reference.path).iterdir():
        assert str(trained.workspace.parent).encode() not in file.read_bytes(), file
    for part in searcher.manifest.parts:
        assert str(trained.workspace).encode() not in (trained.workspace / "index/main/1" / part).read_bytes()


def test_fine_stripes_have_one_embedding_whichever_way_they_come(
    trained: Trained, searcher: Searcher, tmp_path: Path
) -> None:
    """P17: a large picture is made small in the same way for the command, for plain MLflow and from Python."""
    x, y = np.meshgrid(np.arange(1600), np.arange(1200))
    stripes = Image.fromarray(np.where((x + 2 * y) % 6 < 3, 235, 20).astype(np.uint8)).convert("RGB")
    files = [tmp_path / "large.png", tmp_path / "small.png"]
    stripes.save(files[0])
    stripes.resize((800, 600)).save(files[1])
    served = serve(trained, files, tmp_path / "embeddings.npy")
    indexed_ND = np.stack([searcher.embedding_of(image_id) for image_id in searcher.image_ids])
    for file, served_D in zip(files, served, strict=True):
        with torch.inference_mode():
            inputs = to_inputs(file.read_bytes(), searcher.model.config.preprocessings)
            python_D = searcher.model.embed_one(inputs).numpy()
        assert float(served_D @ python_D) > 0.9999
        command = scenekin("search", file, "--top", 5, "--workspace", trained.workspace, "--json").answer
        for result in command["results"]:
            expected = float(served_D @ indexed_ND[searcher.image_ids.index(result["image_id"])])
            assert result["score"] == pytest.approx(expected, abs=1e-3)


@with_shared
def test_an_image_has_one_embedding_whatever_its_batch_and_its_neighbours(searcher: Searcher, trained: Trained) -> None:
    """P16: alone, in batches of 3 and 8, in any order, and as it is stored."""
    indexed = [trained.collection / path for path in searcher.paths[:4]]
    odd = [path for number in ("F11", "F27") for path in case(number).glob("*") if path.suffix in {".jpg", ".png"}]
    files = [*indexed, *(path for path in sorted(odd) if "MP" not in path.name)]
    alone = {file: searcher.embed(file) for file in files}
    for file, image_id in zip(indexed, searcher.image_ids, strict=False):
        stored_D = searcher.embedding_of(image_id)  # float16 makes its length a little other than 1
        assert float(alone[file] @ stored_D) / np.linalg.norm(stored_D) > 0.9999
    cpu = torch.device("cpu")
    for batch_size in (1, 3, 8):
        shuffled = [files[row] for row in np.random.default_rng(batch_size).permutation(len(files))]
        names = list(map(str, shuffled))
        loading = {"device": cpu, "batch_size": batch_size, "workers": 2}
        for batch in embed_images(searcher.model, names, lambda name: Path(name).read_bytes(), **loading):  # type: ignore[arg-type]
            assert not isinstance(batch, Refusal)
            for row, embedding_D in zip(batch[0], batch[1].numpy(), strict=True):
                assert float(alone[shuffled[row]] @ embedding_D) > 0.9999
                np.testing.assert_allclose(embedding_D, alone[shuffled[row]], atol=1e-3)


def test_the_registered_model_is_the_indexs(trained: Trained, searcher: Searcher) -> None:
    champion = mlflow_client(trained.workspace).get_model_version_by_alias("scenekin", "champion")
    assert searcher.manifest.model.version == int(champion.version)
    assert searcher.manifest.model.reference.digest == champion.tags["digest"]
    assert searcher.model.config.dimension == searcher.manifest.dimension == 24


def test_ids_and_paths_are_in_the_order_of_the_rows(searcher: Searcher, trained: Trained) -> None:
    folder = trained.workspace / "index" / "main" / "1"
    table = pa.concat_tables([pq.read_table(folder / part) for part in searcher.manifest.parts])
    assert searcher.image_ids == table["image_id"].to_pylist() == sorted(searcher.image_ids)
    assert searcher.paths == table["path"].to_pylist()


# Why two images match.


def test_files_bytes_and_ids_are_explained_alike(searcher: Searcher, trained: Trained, query: Path) -> None:
    other_id = searcher.search(query, top=2)[1].image_id
    other = trained.collection / searcher.paths[searcher.image_ids.index(other_id)]
    first, *others = (
        searcher.explain(a, b)
        for a, b in ((query, other), (str(query), other.read_bytes()), (query.read_bytes(), other_id))
    )
    assert first.score == pytest.approx(float(searcher.embed(query) @ searcher.embed(other)), abs=1e-6)
    assert first.score == pytest.approx(searcher.search(query, top=2)[1].score, abs=2e-3)
    assert first.evidence
    for explanation in others:
        assert (explanation.score, explanation.dimensions) == (first.score, first.dimensions)
        np.testing.assert_array_equal(explanation.map_a_HW, first.map_a_HW)
        np.testing.assert_array_equal(explanation.map_b_HW, first.map_b_HW)


def test_explaining_changes_no_embedding(searcher: Searcher, query: Path) -> None:
    before_D = searcher.embed(query)
    searcher.explain(query, searcher.image_ids[5])
    np.testing.assert_array_equal(searcher.embed(query), before_D)
    assert all(parameter.grad is None for parameter in searcher.model.parameters())


@pytest.mark.parametrize(("orientation", "stored"), [(6, Image.Transpose.ROTATE_90), (8, Image.Transpose.ROTATE_270)])
def test_the_map_of_a_turned_file_is_that_of_the_picture_shown(
    searcher: Searcher, query: Path, tmp_path: Path, orientation: int, stored: Image.Transpose
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    with Image.open(query) as image:
        wide = image.resize((320, 160))
    wide.save(tmp_path / "upright.png")
    wide.transpose(stored).save(tmp_path / "turned.png", exif=exif)
    upright, turned = (searcher.explain(tmp_path / name, query) for name in ("upright.png", "turned.png"))
    height, width = upright.map_a_HW.shape
    assert width > height
    np.testing.assert_array_equal(turned.map_a_HW, upright.map_a_HW)


def test_a_file_that_exists_goes_before_an_id(
    searcher: Searcher, query: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image_id = searcher.image_ids[3]
    monkeypatch.chdir(tmp_path)
    assert searcher.read(image_id) == searcher.read_indexed(image_id) != query.read_bytes()
    Path(image_id).parent.mkdir(parents=True)
    Path(image_id).write_bytes(query.read_bytes())
    assert searcher.read(image_id) == query.read_bytes()


def test_what_cannot_be_explained_is_named(trained_copy: Trained, query: Path, tmp_path: Path) -> None:
    searcher = Searcher.open(trained_copy.workspace)
    (tmp_path / "text.jpg").write_text("hello")
    gone = searcher.image_ids[7]
    moved = tmp_path / "moved"
    searcher.manifest = searcher.manifest.model_copy(update={"images_root": str(moved)})
    for image, words in (
        (gone, f"Cannot read image '{gone}' of the index 'main' at {moved}/.*: No such file"),
        ("nobody", "No such file or image in the index 'main': 'nobody'"),
        ("n" * 5000, "Cannot read 'n+': File name too long"),
        (tmp_path, f"Cannot read '{tmp_path}': Is a directory"),
        (tmp_path / "text.jpg", "text.jpg': not an image, or of an unknown type"),
        (b"", "Cannot decode the image: empty file"),
    ):
        for pair in ((image, query), (query, image)):
            with pytest.raises(InputError, match=words):
                searcher.explain(*pair)


def test_images_of_a_remote_collection_are_read_there(trained: Trained, query: Path) -> None:
    searcher = Searcher.open(trained.workspace)
    image_id = query.relative_to(trained.collection).as_posix()
    filesystem = fsspec.filesystem("memory")
    filesystem.pipe(f"/photos/{image_id}", query.read_bytes())
    searcher.manifest = searcher.manifest.model_copy(update={"images_root": "memory://photos"})
    try:
        assert searcher.explain(image_id, query).score == pytest.approx(1, abs=1e-6)
        with pytest.raises(InputError, match=r"Cannot read image .* at memory://photos/"):
            searcher.explain(searcher.image_ids[0], query)
    finally:
        filesystem.rm("/photos", recursive=True)


def test_a_file_that_was_replaced_is_never_taken_for_the_indexed_image(trained_copy: Trained) -> None:
    searcher = Searcher.open(trained_copy.workspace)
    root = str(trained_copy.collection)
    searcher.manifest = searcher.manifest.model_copy(update={"images_root": root})
    image_id, other_id = searcher.image_ids[10:12]
    file = Path(searcher.location_of(image_id))
    assert searcher.read_indexed(image_id) == file.read_bytes()
    for replace in (
        lambda: shutil.copy(searcher.location_of(other_id), file),
        lambda: (file.unlink(), file.symlink_to(searcher.location_of(other_id))),
    ):
        replace()
        for read in (searcher.read_indexed, searcher.read, lambda each: searcher.explain(each, other_id)):
            with pytest.raises(MissingImage, match=f"Image '{image_id}' has changed since the index 'main' was made"):
                read(image_id)
    file.unlink()
    os.mkfifo(file)  # reading it would never end
    with pytest.raises(MissingImage, match="not a regular file"):
        searcher.read_indexed(image_id)


# Images from memory, and what else a search takes.


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "CMYK", "P", "I;16", "F", "1"])
def test_a_pillow_image_is_searched_for_as_its_file(searcher: Searcher, query: Path, tmp_path: Path, mode: str) -> None:
    with Image.open(query) as opened:
        image = opened.convert("L").convert("I").convert("I;16") if mode == "I;16" else opened.convert(mode)
    before = image.copy()
    image.save(tmp_path / "query.tif")
    assert searcher.search(image) == searcher.search(tmp_path / "query.tif")
    assert image == before
    if mode == "RGB":
        assert searcher.explain(image, query).score == pytest.approx(1, abs=1e-3)


def test_a_pillow_image_is_turned_upright_and_damage_is_said(searcher: Searcher, query: Path, tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    with Image.open(query) as image:
        image.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "turned.png", exif=exif)
    with Image.open(tmp_path / "turned.png") as turned:
        np.testing.assert_array_equal(searcher.embed(turned), searcher.embed(query))
    (tmp_path / "cut.jpg").write_bytes(query.read_bytes()[:2000])
    with (
        Image.open(tmp_path / "cut.jpg") as cut,
        pytest.raises(InputError, match=r"Cannot decode the image: .*truncated"),
    ):
        searcher.search(cut)


def test_a_search_takes_strengths_and_a_recall(searcher: Searcher, query: Path) -> None:
    word = common_word(searcher)
    far = searcher.nearest(searcher.query(query, add=[word], alpha=50.0), 5)
    assert searcher.search(query, add=[word], alpha=50.0, top=5, recall=1) == far
    away = searcher.nearest(searcher.query(query, remove=[word], beta=3.0), 5)
    assert searcher.search(query, remove=[word], beta=3.0, top=5) == away


def test_a_single_word_may_be_given_as_such(searcher: Searcher, query: Path) -> None:
    word = common_word(searcher)
    assert searcher.search(query, add=word) == searcher.search(query, add=[word])
    assert searcher.search(query, remove=word) == searcher.search(query, remove=[word])


def test_a_recall_is_a_share(searcher: Searcher, query: Path) -> None:
    for recall in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError, match="recall must be between 0 and 1, not "):
            searcher.search(query, recall=recall)


def test_a_searcher_says_what_it_searches(searcher: Searcher) -> None:
    assert repr(searcher) == "Searcher(index 'main' version 1, 141 images)"


def test_an_index_opens_where_the_locale_has_ascii_only(trained_copy: Trained) -> None:
    manifest = trained_copy.workspace / "index" / "main" / "1" / "manifest.json"
    text = manifest.read_text(encoding="utf-8")
    root = Searcher.open(trained_copy.workspace).manifest.images_root
    manifest.write_text(text.replace(f'"{root}"', '"/Fotos Zürich"'), encoding="utf-8")
    script = "import sys; from scenekin import Searcher; print(ascii(Searcher.open(sys.argv[1]).manifest.images_root))"
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-c", script, str(trained_copy.workspace)]
    assert subprocess.check_output(command, text=True, env=os.environ | ascii_only).strip() == r"'/Fotos Z\xfcrich'"


def test_captions_and_digests_are_those_of_the_collection(searcher: Searcher, trained: Trained, query: Path) -> None:
    image_id = query.relative_to(trained.collection).as_posix()
    row = json.loads((query.parent / "metadata.jsonl").read_text().splitlines()[0])
    assert row["file_name"] == query.name
    assert searcher.caption_of(image_id) in row["captions"]
    assert searcher.caption_of("extra/copy.jpg") is None
    assert searcher.digest_of(image_id) == hashlib.sha256(query.read_bytes()).hexdigest()
    for look_up in (searcher.caption_of, searcher.digest_of, searcher.location_of, searcher.embedding_of):
        with pytest.raises(MissingImage, match="No image 'nobody' in the index 'main'"):
            look_up("nobody")


# Words that steer.


def test_far_enough_towards_a_word_it_is_the_word_alone(searcher: Searcher, query: Path) -> None:
    word = common_word(searcher)
    moved = searcher.nearest(searcher.query(query, add=[word], alpha=1e6), top=20)
    assert [result.image_id for result in moved] == [result.image_id for result in searcher.search(text=word, top=20)]


def test_what_is_added_comes_nearer_and_what_is_removed_goes_away(searcher: Searcher, query: Path) -> None:
    word = common_word(searcher)
    theta_D = searcher.text.embed(word)
    assert theta_D is not None
    plain, nearer, farther = (searcher.query(query, **moved) for moved in ({}, {"add": [word]}, {"remove": [word]}))
    assert farther.embedding_D @ theta_D < plain.embedding_D @ theta_D < nearer.embedding_D @ theta_D
    assert (nearer.added, nearer.removed, farther.removed) == ((word,), (), (word,))
    for moved in (nearer, farther):
        assert np.linalg.norm(moved.embedding_D) == pytest.approx(1, abs=1e-5)


def test_words_that_say_nothing_move_nothing_and_are_named(searcher: Searcher, query: Path) -> None:
    moved = searcher.query(query, add=["zeppelin", "", "🐶"], remove=["  "])
    np.testing.assert_array_equal(moved.embedding_D, searcher.query(query).embedding_D)
    assert (moved.added, moved.removed, moved.unknown_terms) == ((), (), ("zeppelin",))
    assert list(moved.passed_over) == ["zeppelin", "", "🐶", "  "]


def test_function_words_move_nothing_not_even_alone(searcher: Searcher, query: Path) -> None:
    moved = searcher.query(query, add=["the of and:3"])
    np.testing.assert_array_equal(moved.embedding_D, searcher.query(query).embedding_D)
    with pytest.raises(InputError, match="'the of and' is unknown or too common to search for; try other words"):
        searcher.search(text="the of and")


def test_a_weight_is_so_many_times_alpha(searcher: Searcher, query: Path) -> None:
    word = common_word(searcher)
    weighted, far = searcher.query(query, add=[f"{word}:2.5"]), searcher.query(query, add=[word], alpha=2.5)
    np.testing.assert_array_equal(weighted.embedding_D, far.embedding_D)


def test_a_word_both_added_and_removed_cancels(searcher: Searcher, query: Path) -> None:
    word = common_word(searcher)
    moved = searcher.query(query, add=[word.upper()], remove=[word])
    np.testing.assert_array_equal(moved.embedding_D, searcher.query(query).embedding_D)


def test_a_long_text_is_no_trouble(searcher: Searcher, query: Path) -> None:
    moved = searcher.query(query, add=[f"{common_word(searcher)} " * 2000])
    assert np.isfinite(moved.embedding_D).all()


def test_a_text_of_unknown_words_is_refused_with_known_ones_of_like_spelling(searcher: Searcher) -> None:
    word = max(searcher.text.vocabulary.words, key=len)
    with pytest.raises(
        InputError, match=rf"Every word of '{word}x' is unknown or too common to search for\. Did you mean .*{word}"
    ):
        searcher.search(text=f"{word}x")
    with pytest.raises(InputError, match="Give exactly one query: an image, the id of an indexed image, or a text"):
        searcher.search(text=word, image_id=searcher.image_ids[0])


def test_a_model_that_knows_no_words_says_what_trains_one(trained_copy: Trained, query: Path) -> None:
    workspace = Workspace(trained_copy.workspace)
    model = Searcher.open(workspace.root).manifest.model.reference
    folder = workspace.root / model.path
    (folder / "text.safetensors").unlink()
    digest = refer_to_model(workspace, folder).digest
    folder.rename(folder.with_name(digest))
    file = workspace.index / "main" / "1" / "manifest.json"
    file.write_text(file.read_text().replace(model.digest, digest))  # as if it had been indexed with that model
    searcher = Searcher.open(workspace.root)
    assert searcher.search(query)
    with pytest.raises(
        InputError,
        match=r"'main' is .*, which knows no words; .* another method, such as regression\.$",
    ):
        searcher.search(query, add=["dog"])
    sentence = scenekin("search", query, "--add", "dog", "--workspace", workspace.root).sentence
    assert "regression. Run `scenekin train COLLECTION --set 'candidates=[regression]'`, then `scenekin" in sentence


def common_word(searcher: Searcher) -> str:
    """A word that a third of the captioned images have."""
    vocabulary = searcher.text.vocabulary
    third = np.abs(vocabulary.document_frequency_V - vocabulary.documents / 3)
    return vocabulary.words[int(third.argmin())]


def test_an_empty_text_is_said(searcher: Searcher) -> None:
    for text in ("", "  "):
        with pytest.raises(InputError, match="The text is empty"):
            searcher.query(text=text)


def test_words_without_effect_are_warned_of(searcher: Searcher, query: Path) -> None:
    with pytest.warns(UserWarning, match="No training caption contains 'zeppelin'; it is ignored") as warned:
        results = searcher.search(query, add=["zeppelin"])
    assert Path(warned[0].filename) == Path(__file__)
    assert results == searcher.search(query)


def test_an_open_file_is_an_image(searcher: Searcher, query: Path) -> None:
    with query.open("rb") as file:
        assert searcher.search(file) == searcher.search(query)
    assert searcher.search(io.BytesIO(query.read_bytes())) == searcher.search(query)
    explanation = searcher.explain(io.BytesIO(query.read_bytes()), query)
    assert explanation.score == searcher.explain(query, query).score


AN_IMAGE = "An image must be a path, bytes, an open binary file or a Pillow image"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"top": 2.5}, "top must be a whole number, not 2.5."),
        ({"top": "3"}, "top must be a whole number, not '3'."),
        ({"recall": "all"}, "recall must be a number, not 'all'."),
        ({"add": ["boat"], "alpha": "x"}, "alpha must be a number, not 'x'."),
        ({"beta": None}, "beta must be a number, not None."),
        ({"add": 3}, "add must be a string or a list of strings, not 3."),
        ({"remove": [b"boat"]}, "remove must be a string or a list of strings, not [b'boat']."),
        ({"image": 3}, "An image must be a path, bytes, an open binary file or a Pillow image, not int."),
        (
            {"image": io.StringIO("x")},
            "An image must be a path, bytes, an open binary file or a Pillow image, not StringIO.",
        ),
        ({"image": None, "text": 3}, "text must be a string, not 3."),
    ],
)
def test_arguments_of_a_wrong_type_are_named(
    searcher: Searcher, query: Path, arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(TypeError) as refused:
        searcher.search(**{"image": query, **arguments})
    assert str(refused.value) == sentence
    assert len(searcher.search(query, top=np.int64(2))) == 2  # type: ignore[arg-type]
