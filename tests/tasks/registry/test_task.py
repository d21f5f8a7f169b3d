import ast
import json
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import replace
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from flows.config import Config
from storage.artifacts import Artifact, folder_of, write_artifact
from storage.errors import StorageError
from storage.mlflow_store import tracking_client
from storage.models import ModelRef, refer_to_model
from storage.registry import Registered
from storage.tables import write_table
from storage.tracking import RunPage, training_run
from storage.workspace import Workspace
from tasks.caching import Runtime
from tasks.captions.vocabulary import build_vocabulary
from tasks.collection.arrow import CAPTIONS
from tasks.evaluation.report import Report
from tasks.evaluation.summary import summarise
from tasks.images.config import Preprocessing
from tasks.images.preprocess import to_inputs
from tasks.model.architectures import create_backbone
from tasks.model.config import BackboneConfig, ModelConfig, NetworkConfig, PoolingConfig
from tasks.model.persistence import load
from tasks.model.saving import save
from tasks.model.scene_model import SceneModel
from tasks.model.text_model import save_text
from tasks.registry.bundle import MODULE
from tasks.registry.stage import REQUIREMENTS, libraries_of
from tasks.registry.task import (
    attach_report,
    candidate_model,
    find_registered,
    log_candidates,
    model_card,
    other_champion,
    register_model,
    run_of,
)
from tasks.source import _spec_file, closure
from tasks.training.config import RegressionConfig
from tests.tasks.evaluation.making import rankings
from tests.tasks.images.making import encode, noise
from tests.tasks.model.making import tiny_projection

DIMENSION = 4
VOCABULARY = build_vocabulary([["a dog on a beach"], ["a cat"]], "english")


def train(workspace: Workspace, method: str, seed: int) -> Artifact:
    """What a training stage writes: a model, and the MLflow run that it was trained in."""
    torch.manual_seed(seed)
    config = ModelConfig(
        method=method,
        networks=(NetworkConfig(backbone=BackboneConfig(size=64), preprocessing=Preprocessing(size=64)),),
        pooling=PoolingConfig(kind="gap"),
        channels=1280,
        dimension=DIMENSION,
    )
    model = SceneModel(
        config, [create_backbone(config.networks[0].backbone, pretrained=False)], tiny_projection(1280, DIMENSION)
    )
    with training_run(
        workspace,
        RunPage(method, method, "photos", "/photos", "d", f"key {seed}"),
        workspace.root / f"run {method} {seed}",
    ) as log:
        pass

    def fill(folder: Path) -> None:
        (folder / "model").mkdir()
        save(model, VOCABULARY, folder / "model")
        (folder / "training.json").write_text(json.dumps({"run_id": log.run_id}))

    return write_artifact(workspace, "training", f"{method}{seed}", fill)


def register(workspace: Workspace, best: str, trained: dict[str, Artifact], card: str = "# card") -> Registered:
    models = {method: candidate_model(workspace, artifact) for method, artifact in trained.items()}
    run_id = run_of(workspace, trained[best])
    collection = write_artifact(workspace, "collection", "k", describe)
    return register_model(workspace, run_id, best, models, f"config of {best}", {"ndcg_auc": 41.0}, card, collection)


def describe(folder: Path) -> None:
    """Write what reading a collection writes about it."""
    (folder / "summary.json").write_text(json.dumps({"format": "imagefolder"}))


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="module")
def trained(workspace: Workspace) -> dict[str, Artifact]:
    return {method: train(workspace, method, seed) for seed, method in enumerate(("v_v", "regression"))}


@pytest.fixture(scope="module")
def champion(workspace: Workspace, trained: dict[str, Artifact]) -> Registered:
    return register(workspace, "regression", trained)


def versions(workspace: Workspace) -> int:
    return len(tracking_client(workspace).search_model_versions())


def test_the_best_is_registered_and_all_candidates_are_kept(
    workspace: Workspace, trained: dict[str, Artifact], champion: Registered
) -> None:
    assert (champion.version, champion.aliases, champion.config) == (1, ("champion",), "config of regression")
    assert (champion.is_new, champion.method) == (True, "regression")
    assert champion.run_id == run_of(workspace, trained["regression"])
    assert champion.model == champion.candidates["regression"]
    assert champion.candidates.keys() == trained.keys()
    for method, model in champion.candidates.items():
        assert model.path == f"models/{model.digest}"
        assert load(workspace.root / model.path).config.method == method


def test_a_model_that_is_registered_is_not_registered_again(
    workspace: Workspace, trained: dict[str, Artifact], champion: Registered
) -> None:
    before = versions(workspace)
    elsewhere = Workspace(workspace.root)
    known = replace(champion, is_new=False)
    assert register(elsewhere, "regression", trained) == known
    copies = {
        method: artifact.model_copy(update={"key": f"{artifact.key}-copy"}) for method, artifact in trained.items()
    }
    for method, copy in copies.items():
        shutil.copytree(folder_of(workspace, trained[method]), folder_of(workspace, copy))
    assert register(workspace, "regression", copies) == known
    assert versions(workspace) == before


def test_another_best_one_waits_as_challenger(
    workspace: Workspace, trained: dict[str, Artifact], champion: Registered
) -> None:
    challenger = register(workspace, "v_v", trained)
    assert challenger.version > champion.version
    assert challenger.aliases == ("challenger",)
    known = replace(champion, is_new=False)
    assert find_registered(workspace, "champion") == other_champion(workspace, challenger) == known
    assert other_champion(workspace, champion) is None
    assert find_registered(workspace, "challenger") == replace(challenger, is_new=False)
    assert register(workspace, "regression", trained) == known


def test_the_card_and_the_candidates_of_a_version_stay(
    workspace: Workspace, trained: dict[str, Artifact], champion: Registered
) -> None:
    known = replace(champion, is_new=False)
    assert register(workspace, "regression", trained, card="# another") == known
    alone = register(workspace, "regression", {"regression": trained["regression"]}, card="# alone")
    assert (alone.is_new, alone.reason) == (True, "same model as version 1, beside other candidates")
    assert (alone.model, alone.candidates) == (champion.model, {"regression": champion.model})
    assert find_registered(workspace, "champion") == known
    client = tracking_client(workspace)
    assert client.get_model_version("scenekin", str(champion.version)).description == "# card"
    assert Path(client.download_artifacts(champion.run_id, "model_card.md")).read_text(encoding="utf-8") == "# card"
    run = client.get_run(champion.run_id)
    assert (run.info.run_name, run.data.tags["version"]) == ("regression · photos · v1", "1")


def test_candidates_have_their_metrics_and_the_winner_its_version(
    workspace: Workspace, trained: dict[str, Artifact]
) -> None:
    runs = {method: run_of(workspace, artifact) for method, artifact in trained.items()}
    client = tracking_client(workspace)
    for auc in (44.0, 45.0):
        log_candidates(workspace, runs, {method: {"pcc_auc": auc} for method in runs}, "regression", 1)
    for run_id in runs.values():
        assert [metric.value for metric in client.get_metric_history(run_id, "pcc_auc")] == [44.0]
    assert client.get_run(runs["regression"]).data.tags["version"] == "1"


@pytest.fixture(scope="module")
def collection(workspace: Workspace) -> Artifact:
    """Captions by split, as reading a collection writes them; one image of train has two."""
    captions = {"train": [["a dog on a beach", "a dog"], ["a cat"], ["a dog"]], "validation": [["a cat"]], "test": []}

    def fill(folder: Path) -> None:
        for split, captions_N in captions.items():
            rows = [
                {"image_id": f"{split} {n}", "captions": each, "copy_group": n} for n, each in enumerate(captions_N)
            ]
            write_table(folder / f"captions/{split}.parquet", pa.Table.from_pylist(rows, CAPTIONS))

    return write_artifact(workspace, "collection", "k", fill)


@pytest.fixture(scope="module")
def report(workspace: Workspace) -> Artifact:
    """A report as its stage writes it, of a regression that is right and of two methods by chance."""
    random = np.random.default_rng(0)
    relevance_QN = random.random((6, 12))
    scores = {name: random.random((6, 12)) for name in ("baseline_gap", "v_v")} | {"regression": relevance_QN}
    methods = summarise(rankings(relevance_QN, scores))
    told = Report(
        title="Candidates on validation",
        collection="photos",
        split="validation",
        model="v_v, regression",
        queries=6,
        images=12,
        left_out=2,
        copies=0,
        methods=methods,
        notes=("wsabie collapsed.",),
        problem_counts={"unreadable-image": 3},
    )

    def fill(folder: Path) -> None:
        (folder / "report.json").write_text(told.model_dump_json())

    return write_artifact(workspace, "report", "of validation", fill)


def test_a_card_is_written_from_what_the_stages_left(
    workspace: Workspace, trained: dict[str, Artifact], collection: Artifact, report: Artifact
) -> None:
    models = {method: candidate_model(workspace, artifact) for method, artifact in trained.items()}
    config = Config(seed=3, regression=RegressionConfig(penalties=(0.5, 1.0)), runtime=Runtime(workers=7))
    card = model_card(workspace, "regression", models, collection, report, config)
    lines = card.splitlines()
    assert lines[0] == "# scenekin: regression"
    for line in (
        "Collection **photos**; vocabulary of 5 stems, language: english.",
        "| train | 3 | 4 | training |",
        "| validation | 1 | 1 | model selection |",
        "| test | 0 | 0 | none |",
        "Problems in the collection: unreadable-image 3.",
        r"Settings that differ from the defaults: `seed` 3, `regression.penalties` \[0.5, 1.0\].",
        "wsabie collapsed.",
        "- It cannot be searched by words; it was trained on the 5 stems of its training captions (english).",
    ):
        assert line in lines
    assert [line.split(" | ")[0] for line in lines if " to " in line and line.startswith("| ")] == [
        "| **regression**, this model",
        "| (V,V)",
        "| GAP, the best untrained baseline",
    ]
    assert str(workspace.root) not in card


def test_a_model_with_a_text_embedding_takes_words(
    workspace: Workspace, trained: dict[str, Artifact], collection: Artifact, report: Artifact
) -> None:
    folder = workspace.root / "with words"
    shutil.copytree(folder_of(workspace, trained["regression"]) / "model", folder)
    save_text(np.ones((5, DIMENSION)), folder)
    models = {"regression": refer_to_model(workspace, folder)}
    assert "Words can steer a search." in model_card(workspace, "regression", models, collection, report, Config())


@pytest.mark.usefixtures("champion")
def test_a_name_that_is_not_there_is_an_error(workspace: Workspace) -> None:
    with pytest.raises(StorageError, match="There is no model 'winner'"):
        find_registered(workspace, "winner")


def test_a_report_is_attached_to_its_run(workspace: Workspace, champion: Registered) -> None:
    report = write_artifact(
        workspace,
        "report",
        "k",
        lambda folder: Path(folder, "report.html").write_text("<p>figures</p>", encoding="utf-8") and None,
    )
    attach_report(workspace, champion.run_id, report, "test")
    client = tracking_client(workspace)
    logged = client.list_artifacts(champion.run_id, "report/test")
    assert {Path(file.path).name for file in logged} == {"report.html", "artifact.json"}
    other = write_artifact(
        workspace, "report", "l", lambda folder: Path(folder, "report.html").write_text("", encoding="utf-8") and None
    )
    for replace_it, kept in ((False, "<p>figures</p>"), (True, "")):
        attach_report(workspace, champion.run_id, other, "test", replace=replace_it)
        assert (
            Path(client.download_artifacts(champion.run_id, "report/test/report.html")).read_text(encoding="utf-8")
            == kept
        )


OF_OPEN_CLIP: dict[str, Any] = {
    "method": "regression",
    "networks": [{"backbone": {"name": "open_clip/ViT-B-32/openai"}, "preprocessing": {}}],
    "pooling": {},
    "channels": 8,
    "dimension": 8,
}


def test_the_code_that_travels_needs_no_more_than_is_required() -> None:
    modules = closure({MODULE})
    assert {".".join(module.split(".")[:2]) for module in modules} <= {
        *("tasks", "tasks.registry", "tasks.errors", "tasks.invalid", "tasks.images", "tasks.captions", "tasks.model"),
    }
    needed = set()
    for module in modules:
        file = _spec_file(module)
        assert file is not None
        for node in ast.parse(file.read_text()).body:  # what functions import themselves, only some models need
            if isinstance(node, ast.Import):
                needed |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                needed.add(str(node.module).split(".")[0])
    provided = {
        package
        for package, homes in packages_distributions().items()
        if {home.lower() for home in homes} & {*libraries_of(ModelConfig.model_validate(OF_OPEN_CLIP))}
    }
    assert needed - sys.stdlib_module_names - {"tasks"} <= provided
    networks = [{**OF_OPEN_CLIP["networks"][0], "backbone": {"name": "timm/resnet18"}}]
    assert libraries_of(ModelConfig.model_validate({**OF_OPEN_CLIP, "networks": networks})) == REQUIREMENTS


def test_plain_mlflow_serves_it_where_scenekin_is_not_installed(
    workspace: Workspace, champion: Registered, tmp_path: Path
) -> None:
    pictures = [encode(noise(90, 60, seed=seed)) for seed in range(2)]
    for number, data in enumerate(pictures):
        (tmp_path / f"{number}.png").write_bytes(data)
    script = f"""
import importlib.util, sys
sys.path[:0] = {[sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]!r}
assert importlib.util.find_spec("tasks") is None
from pathlib import Path
from typing import Any
import mlflow, pandas
mlflow.set_tracking_uri({workspace.mlflow_uri!r})
images = [Path({str(tmp_path)!r}, f"{{number}}.png").read_bytes() for number in range(2)]
found = mlflow.pyfunc.load_model("models:/scenekin@champion").predict(pandas.DataFrame({{"image": images}}))
found.tofile(Path({str(tmp_path)!r}, "found"))
"""
    subprocess.run(
        [sys.executable, "-S", "-I", "-c", script], check=True, cwd=tmp_path, capture_output=True, timeout=120
    )
    found_BD = np.fromfile(tmp_path / "found", np.float32).reshape(2, DIMENSION)
    model = load(workspace.root / champion.model.path)
    with torch.inference_mode():
        expected_BD = torch.stack([model.embed_one(to_inputs(data, model.config.preprocessings)) for data in pictures])
    np.testing.assert_allclose(found_BD, expected_BD.numpy(), atol=1e-6)


def test_a_candidate_is_referred_to_where_it_was_trained(workspace: Workspace, trained: dict[str, Artifact]) -> None:
    model = candidate_model(workspace, trained["v_v"])
    assert isinstance(model, ModelRef)
    assert model.path == f"artifacts/training/{trained['v_v'].key}/model"
