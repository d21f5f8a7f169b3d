import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import mlflow
import pytest
import torch

from flows.candidates import choose
from flows.config import Config
from storage.faults import FaultPoint, inject
from storage.workspace import Workspace, locked
from tasks import source
from tasks.demo.collection import write_collection
from tasks.evaluation.task import Evaluation
from tasks.features import stage as features_stage
from tasks.model.config import load_config
from tasks.model.methods import LABELS
from tasks.training import regression_stage, triplet_loop, triplet_stage
from tests.command import SCENEKIN, Outcome, scenekin
from tests.trained import (
    STEPS,
    Trained,
    change_caption,
    change_image,
    mlflow_client,
    registered_versions,
    steps_run,
)

LOGGED = {"loss", "active_share", "spread", "learning_rate", "images_per_second", "validation_ndcg_auc"}


@pytest.fixture(scope="module")
def answer(trained: Trained) -> dict[str, Any]:
    """What the first training answered."""
    answer: dict[str, Any] = json.loads((trained.workspace.parent / "train.json").read_text())
    return answer


# What a training answers and leaves.


def test_the_answer_is_as_promised(answer: dict[str, Any]) -> None:
    assert answer.keys() == {
        "run_id",
        "method",
        "model",
        "candidates",
        "baseline",
        "chance",
        "half",
        "metrics",
        "promoted",
        "reason",
        "champion",
        "to_champion",
        "warning",
        "networks",
        "report",
        "problem_counts",
        "stages",
    }
    assert answer["problem_counts"]["unreadable-image"] == 1
    assert answer["model"] == {"name": "scenekin", "version": 1, "aliases": ["champion"]}
    assert (answer["promoted"], answer["reason"]) == (True, "the first version")
    assert (answer["champion"], answer["to_champion"]) == (None, None)
    regression = next(each for each in answer["candidates"] if each["method"] == "regression")
    half = answer["half"]
    assert half["images"] == 49
    assert half["ndcg_auc"] + half["gain"] == pytest.approx(regression["metrics"]["ndcg_auc"], abs=0.01)
    assert 0 < answer["chance"] < half["ndcg_auc"]
    assert steps_run(answer) == set(STEPS)
    assert all(stage.keys() == {"name", "cached", "seconds"} for stage in answer["stages"])


def test_the_better_candidate_is_registered(trained: Trained, answer: dict[str, Any]) -> None:
    candidates = {candidate["method"]: candidate["metrics"] for candidate in answer["candidates"]}
    assert candidates.keys() == {"v_v", "regression"}
    took = sum(stage["seconds"] for stage in answer["stages"] if stage["name"].startswith("train_"))
    assert 0 < sum(candidate["seconds"] for candidate in answer["candidates"]) <= took
    best = max(candidates, key=lambda method: candidates[method]["ndcg_auc"])
    assert answer["method"] == best
    assert answer["metrics"] == {"validation": candidates[best]}
    (run,) = (run for run in trained.training_runs() if run.info.run_id == answer["run_id"])
    assert run.info.run_name == f"{LABELS.get(best, best)} · {trained.collection.name} · v1"
    assert run.data.metrics["best_validation_ndcg_auc"] == pytest.approx(candidates[best]["ndcg_auc"], abs=0.1)
    runs = {run.data.tags["method"]: run for run in trained.training_runs()}
    for method, metrics in candidates.items():
        assert runs[method].data.metrics["ndcg_auc"] == pytest.approx(metrics["ndcg_auc"])
        assert runs[method].data.tags.get("version") == ("1" if method == best else None)
    (other,) = runs.keys() - {best}
    name = re.escape(f"{LABELS[other]} · {trained.collection.name} · ")
    assert re.fullmatch(name + "[0-9a-f]{7}", runs[other].info.run_name)


def test_candidates_are_compared_with_the_best_untrained_baseline(answer: dict[str, Any]) -> None:
    report = json.loads(Path(answer["report"]).with_name("report.json").read_text())
    methods = report["methods"]
    best = max((name for name in methods if name.startswith("baseline_")), key=lambda name: methods[name]["ndcg_auc"])
    baseline = answer["baseline"]
    assert baseline.keys() == {"method", "label", "metrics", "ndcg_auc_interval"}
    assert (baseline["method"], baseline["label"]) == (best, methods[best]["label"])
    assert baseline["ndcg_auc_interval"] == methods[best]["ndcg_auc_interval"]
    for candidate in answer["candidates"]:
        assert candidate["to_baseline"] == methods[candidate["method"]]["gain"]
        difference = candidate["metrics"]["ndcg_auc"] - baseline["metrics"]["ndcg_auc"]
        assert candidate["to_baseline"]["ndcg_auc"] == pytest.approx(difference)
        assert candidate["to_baseline"]["over"] == best
    gains = {candidate["to_best"] is None: candidate["to_baseline"] for candidate in answer["candidates"]}
    assert (answer["warning"] is None) == (gains[True]["ndcg_auc_interval"][0] > 0)


def test_learning_beats_chance(answer: dict[str, Any]) -> None:
    report = json.loads(Path(answer["report"]).with_name("report.json").read_text())
    assert answer["metrics"]["validation"]["ndcg_auc"] > report["methods"]["random"]["ndcg_auc"] + 10


def test_the_version_has_signature_example_and_metrics(trained: Trained, answer: dict[str, Any]) -> None:
    client = mlflow_client(trained.workspace)
    mlflow.set_tracking_uri(f"sqlite:///{trained.workspace / 'mlflow.db'}")
    info = mlflow.models.get_model_info("models:/scenekin@champion")
    assert info.signature is not None
    assert info.signature.inputs.input_names() == ["image"]
    assert info.saved_input_example_info is not None
    version = client.get_model_version_by_alias("scenekin", "champion")
    assert version.run_id == answer["run_id"]
    logged = {metric.key: metric.value for metric in client.get_logged_model(info.model_id).metrics}
    figures = answer["metrics"]["validation"]
    assert {name: logged[name] for name in figures} == pytest.approx(figures)


def test_a_training_is_tracked(trained: Trained) -> None:
    runs = {run.data.tags["method"]: run for run in trained.training_runs()}
    assert {name: run.info.status for name, run in runs.items()} == {"v_v": "FINISHED", "regression": "FINISHED"}
    assert runs["v_v"].data.params["training.dimension"] == runs["regression"].data.params["training.dimension"] == "24"
    assert runs["v_v"].data.metrics.keys() >= LOGGED
    history = mlflow_client(trained.workspace).get_metric_history(runs["v_v"].info.run_id, "loss")
    assert [metric.step for metric in history] == [1, 2, 3]


def test_the_report_opens_offline(answer: dict[str, Any]) -> None:
    page = Path(answer["report"]).read_text(encoding="utf-8")
    addresses = re.findall(r"""(?:src|href)\s*=\s*["']?([^"'\s>]*)|url\(([^)]*)\)""", page)
    assert [told for pair in addresses for told in pair if told and not told.startswith(("data:", "#"))] == []
    assert page.count("data:image/") >= 4
    assert json.loads(Path(answer["report"]).with_name("report.json").read_text())["split"] == "validation"
    assert "<dd>(V,V), regression</dd>" in page


def test_the_report_is_attached_to_the_run(trained: Trained, answer: dict[str, Any]) -> None:
    attached = mlflow_client(trained.workspace).list_artifacts(answer["run_id"], "report/validation")
    assert {"report/validation/report.html", "report/validation/report.json"} <= {file.path for file in attached}


# What runs again.


def test_an_identical_training_is_all_cached(trained: Trained, answer: dict[str, Any]) -> None:
    again = trained.train().answer
    assert steps_run(again) == set()
    reason = "same model and candidates as before; nothing new was registered"
    assert {**again, "stages": []} == {**answer, "stages": [], "reason": reason}
    assert registered_versions(trained.workspace) == [1]


def test_a_moved_workspace_and_collection_stay_cached(trained_copy: Trained) -> None:
    assert steps_run(trained_copy.train("runtime.workers=3", "runtime.batch_size=7").answer) == set()


def test_another_setting_of_one_candidate_reruns_that_candidate(trained: Trained, trained_copy: Trained) -> None:
    answer = trained_copy.train("regression.dimension=12").answer
    assert steps_run(answer) == {"ridge", "ridge embeds", "evaluation", "report"}
    assert answer["model"] == {"name": "scenekin", "version": 2, "aliases": ["challenger"]}
    assert (answer["promoted"], answer["reason"]) == (False, "kept as challenger; not in use")
    assert answer["champion"] == 1
    (auc,) = answer["metrics"].values()
    first = json.loads((trained.workspace.parent / "train.json").read_text())["metrics"]["validation"]
    assert answer["to_champion"]["ndcg_auc"] == pytest.approx(auc["ndcg_auc"] - first["ndcg_auc"], abs=1e-6)
    low, high = answer["to_champion"]["ndcg_auc_interval"]
    assert low < answer["to_champion"]["ndcg_auc"] < high


def test_an_equal_model_is_no_other_version(trained_copy: Trained) -> None:
    def stored() -> object:
        version = mlflow_client(trained_copy.workspace).get_model_version("scenekin", "1")
        return version.description, version.tags

    before = stored()
    answer = trained_copy.train("v_v.patience=9").answer
    assert steps_run(answer) == {"triplets", "report"}
    assert answer["model"] == {"name": "scenekin", "version": 1, "aliases": ["champion"]}
    assert answer["reason"] == "same model and candidates as before; nothing new was registered"
    assert registered_versions(trained_copy.workspace) == [1]
    assert stored() == before


def test_an_equal_model_beside_another_candidate_leaves_the_earlier_version(trained_copy: Trained) -> None:
    def stored() -> object:
        version = mlflow_client(trained_copy.workspace).get_model_version("scenekin", "1")
        return version.description, version.tags

    before = stored()
    answer = trained_copy.train("v_v.margin=0.3").answer
    assert answer["model"]["version"] == 2
    assert answer["reason"] == "same model as version 1, beside other candidates"
    assert (answer["champion"], answer["to_champion"]) == (None, None)
    assert stored() == before


@pytest.mark.parametrize(
    ("ndcg_auc", "chosen"),
    [
        ({"untrained": 68.7, "v_v": 67.1, "regression": 67.2}, "untrained"),
        ({"untrained": 67.2, "v_v": 67.1, "regression": 67.2}, "regression"),
        ({"untrained": 60.0, "v_v": 67.3, "regression": 67.2}, "v_v"),
        ({"untrained": None, "v_v": None}, "v_v"),
    ],
)
def test_the_best_on_validation_is_chosen_and_trained_ones_win_ties(
    ndcg_auc: dict[str, float | None], chosen: str
) -> None:
    methods = {name: SimpleNamespace(ndcg_auc=value) for name, value in ndcg_auc.items()}
    assert choose(cast(Evaluation, SimpleNamespace(methods=methods)), ndcg_auc) == chosen


def test_the_untrained_network_is_a_candidate_like_the_others(trained_copy: Trained) -> None:
    """It is the best baseline as a model: chosen where it leads, indexed, searched, explained and evaluated."""
    assert "untrained" in Config().candidates
    outcome = trained_copy.train("candidates=[regression,untrained]")
    methods = {candidate["method"]: candidate for candidate in outcome.answer["candidates"]}
    assert methods.keys() == {"regression", "untrained"}
    gain = methods["untrained"]["to_baseline"]
    assert gain["ndcg_auc"] == pytest.approx(0, abs=0.1)  # the rounding of stored vectors
    leads = methods["untrained"]["to_best"]["ndcg_auc"] > 0
    assert outcome.answer["method"] == ("untrained" if leads else "regression")

    answer = trained_copy.train("candidates=[untrained]").answer
    version = answer["model"]["version"]
    assert answer["method"] == "untrained"
    assert answer["warning"] == "is the untrained network, which takes no words"
    assert methods["untrained"]["metrics"] == answer["metrics"]["validation"]
    assert trained_copy.run("index", "--model", version, "--moved").answer["model"]["version"] == version
    query = sorted((trained_copy.collection / "test").glob("*.jpg"))[0]
    where = "--workspace", trained_copy.workspace
    (first, *_) = scenekin("search", query, *where, "--json").answer["results"]
    assert first["score"] == pytest.approx(1, abs=1e-3)
    sentence = scenekin("search", "--text", "a dog", *where).sentence
    assert "'main' is untrained, which knows no words; index the collection with a model of another" in sentence
    assert "--set 'candidates=[regression]'" in sentence
    picture = trained_copy.workspace / "why.png"
    other = sorted((trained_copy.collection / "test").glob("*.jpg"))[1]
    explained = scenekin("explain", query, other, "--out", picture, *where, "--json").answer
    assert explained["score"] < 1
    assert picture.stat().st_size > 0
    assert "untrained" in trained_copy.run("evaluate", "--model", version).answer["methods"]


def test_another_number_of_neighbours_reruns_what_looks_at_them(trained_copy: Trained) -> None:
    answer = trained_copy.train("surrogate.neighbours=3").answer
    assert steps_run(answer) == {"neighbours", "triplets", "triplets embed", "evaluation", "report"}


def test_another_train_image_reruns_all_that_sees_it(trained_copy: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    extracted: list[str] = []

    def spy(backbone: Any, poolings: Any, paths: list[str], *others: Any, **options: Any) -> Any:
        extracted.extend(paths)
        return extract(backbone, poolings, paths, *others, **options)

    extract = features_stage.extract
    monkeypatch.setattr(features_stage, "extract", spy)
    changed = change_image(trained_copy.collection, "train")
    answer = trained_copy.train().answer
    assert steps_run(answer) == set(STEPS) - {"vocabulary", "validation features", "neighbours"}
    assert extracted == [changed.relative_to(trained_copy.collection).as_posix()]
    assert answer["model"]["version"] == 2


def test_another_train_caption_reruns_all_that_reads_it(trained_copy: Trained) -> None:
    change_caption(trained_copy.collection, "train")
    assert steps_run(trained_copy.train().answer) == set(STEPS) - {"train features", "validation features"}


def test_another_validation_caption_is_judged_by(trained_copy: Trained) -> None:
    kept = set((trained_copy.workspace / "models").iterdir())
    change_caption(trained_copy.collection, "validation")
    run = steps_run(trained_copy.train().answer)
    assert run - {"triplets embed", "ridge embeds"} == {"collection", "triplets", "ridge", "evaluation", "report"}
    chosen_otherwise = set((trained_copy.workspace / "models").iterdir()) - kept
    assert len(run & {"triplets embed", "ridge embeds"}) == len(chosen_otherwise)


@pytest.mark.parametrize("change", [change_caption, change_image])
def test_the_test_split_is_not_looked_at(
    trained_copy: Trained, answer: dict[str, Any], change: Callable[[Path, str], object]
) -> None:
    change(trained_copy.collection, "test")
    again = trained_copy.train().answer
    repeated = {"report"} if again["problem_counts"] != answer["problem_counts"] else set()  # of the whole collection
    assert steps_run(again) == {"collection"} | repeated


@pytest.mark.parametrize(
    ("module", "line", "expected"),
    [
        ("tasks.collection.readers.imagefolder", "pass", {"collection"}),
        ("tasks.surrogate.neighbours", "pass", {"neighbours", "triplets"}),
        ("tasks.training.mining", "pass", {"triplets"}),
        ("tasks.training.ridge", "pass", {"ridge"}),
        ("tasks.evaluation.report", "pass", {"report"}),
        ("tasks.training.ridge", "# a remark", set()),
        ("flows.train", "pass", set()),
    ],
)
def test_a_line_of_code_reruns_the_stages_that_run_it(
    trained_copy: Trained, monkeypatch: pytest.MonkeyPatch, module: str, line: str, expected: set[str]
) -> None:
    edit(monkeypatch, module, line)
    assert steps_run(trained_copy.train().answer) == expected


def test_little_memory_takes_landmarks(trained_copy: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    def solver() -> str:
        files = trained_copy.workspace.glob("artifacts/training/*/training.json")
        newest = max(files, key=lambda file: file.stat().st_mtime)
        return str(json.loads(newest.read_text())["solver"])

    trained_copy.train("regression.landmarks=20")
    assert solver() == "exact kernel"
    monkeypatch.setattr("tasks.training.task.usable_memory", lambda: 100)
    assert "ridge" in steps_run(trained_copy.train("regression.landmarks=20").answer)
    assert solver() == "20 landmarks"


def test_what_other_code_answers_reaches_what_follows(trained_copy: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    space = regression_stage.caption_space
    monkeypatch.setattr(
        regression_stage,
        "caption_space",
        lambda *given: replace(space(*given), target_NT=space(*given).target_NT.clip(0)),
    )
    edit(monkeypatch, "tasks.training.ridge", "pass")
    assert steps_run(trained_copy.train().answer) == {"ridge", "ridge embeds", "evaluation", "report"}


def edit(monkeypatch: pytest.MonkeyPatch, module: str, line: str) -> None:
    """Compute keys as if the module had one more line."""
    text = source.module_text
    monkeypatch.setattr(source, "module_text", lambda name: text(name) + f"\n{line}\n" * (name == module))


def delete(file: Path) -> None:
    file.unlink()


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("pattern", "damage", "expected"),
    [
        ("neighbours/*/neighbours.parquet", delete, {"neighbours"}),
        ("features/*/gap.parquet", truncate, {"train features", "validation features"}),
        ("training/*/training.json", truncate, {"triplets", "ridge"}),
        ("report/*", shutil.rmtree, {"report"}),
    ],
)
def test_a_damaged_result_is_computed_again(
    trained_copy: Trained, pattern: str, damage: Callable[[Path], None], expected: set[str]
) -> None:
    for file in (trained_copy.workspace / "artifacts").glob(pattern):
        damage(file)
    answer = trained_copy.train().answer
    assert steps_run(answer) == expected
    assert registered_versions(trained_copy.workspace) == [1]
    assert steps_run(trained_copy.train().answer) == set()


# Other ways to train. Each registers its one candidate as the next version.


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of 30 scenes."""
    folder = tmp_path_factory.mktemp("small") / "collection"
    write_collection(folder, 30)
    return folder


TINY = (
    "candidates=[v_v]",
    "backbone.name=efficientnet_lite0",
    "backbone.size=64",
    "v_v.dimension=8",
    "v_v.refreshes=1",
    "v_v.batch=8",
    "v_v.updates=2",
)


def train_small(trained: Trained, small: Path, *assignments: str) -> Outcome:
    words = [word for assignment in (*TINY, *assignments) for word in ("--set", assignment)]
    return scenekin("train", small, *words, "--workspace", trained.workspace, "--json")


def test_the_backbone_can_be_trained_too(trained_copy: Trained, small: Path) -> None:
    finetuned = "v_v.backbone=finetuned", "v_v.pooling.kind=rmac_max"
    answer = train_small(trained_copy, small, *finetuned).answer
    assert answer["model"] == {"name": "scenekin", "version": 2, "aliases": ["challenger"]}
    assert answer["reason"].startswith("not promoted, its quality is not established: only 5 queries were measured")
    assert (answer["champion"], answer["to_champion"]) == (1, None)  # of another collection
    assert [candidate["method"] for candidate in answer["candidates"]] == ["v_v"]
    assert [stage["name"] for stage in answer["stages"]][-3:] == ["embed_images", "evaluate", "write_report"]


def test_a_network_is_fine_tuned_and_joined_with_the_frozen_ones(
    trained_copy: Trained, small: Path, tmp_path: Path
) -> None:
    """The whole way: train, index, search, explain, evaluate with two networks and a third that is trained further."""
    settings = tmp_path / "networks.yaml"
    settings.write_text(
        "candidates: [regression, finetuned, joined]\n"
        "backbone: [{name: efficientnet_lite1, size: 96}, {name: efficientnet_lite0, size: 64, mirror: true}]\n"
        "finetuning: {backbone: {name: efficientnet_lite0, size: 64}, epochs: 1, stages: 1}\n"
        "regression: {dimension: 16}\n",
        encoding="utf-8",
    )
    before = set((trained_copy.workspace / "models").iterdir())
    train = "train", small, "--config", settings, "--workspace", trained_copy.workspace, "--json"
    answer = scenekin(*train).answer
    assert [candidate["method"] for candidate in answer["candidates"]] == ["regression", "finetuned", "joined"]
    seconds = {candidate["method"]: candidate["seconds"] for candidate in answer["candidates"]}
    (tuning,) = (stage["seconds"] for stage in answer["stages"] if stage["name"] == "finetune" and not stage["cached"])
    assert min(seconds["finetuned"], seconds["joined"]) > 0.9 * tuning  # reports include a moment of bookkeeping
    models = set((trained_copy.workspace / "models").iterdir()) - before
    networks = {config.method: config.networks for config in map(load_config, models)}
    assert [len(networks[method]) for method in ("regression", "finetuned", "joined")] == [2, 1, 3]
    assert [network.finetuned for network in networks["joined"]] == [False, False, True]
    assert all(stage["cached"] for stage in scenekin(*train).answer["stages"])
    version, where = str(answer["model"]["version"]), ("--workspace", trained_copy.workspace)
    images = scenekin("index", small, "--name", "two", "--model", version, *where, "--json").answer["index"]["images"]
    query = next(small.rglob("*.jpg"))
    results = scenekin("search", query, "--name", "two", *where, "--json").answer["results"]
    assert results[0]["score"] > 0.999
    explained = scenekin(
        "explain", query, results[1]["image_id"], "--name", "two", "--out", tmp_path / "why.png", *where, "--json"
    ).answer
    assert explained["score"] == pytest.approx(results[1]["score"], abs=1e-3)
    measured = scenekin("evaluate", small, "--split", "validation", "--model", version, *where, "--json").answer
    assert {"regression", "finetuned", "joined"} <= measured["methods"].keys()
    assert images > 0


def test_another_backbone_takes_its_weights_from_a_file(trained_copy: Trained, small: Path, tmp_path: Path) -> None:
    import torchvision

    torch.manual_seed(0)
    weights = tmp_path / "weights.pth"
    torch.save(torchvision.models.resnet18(weights=None).state_dict(), weights)
    settings = "backbone.name=resnet18", "v_v.pooling.kind=gem"
    answer = train_small(trained_copy, small, *settings, f"backbone.weights={weights}").answer
    assert answer["model"]["version"] == 2
    assert answer["stages"][-2]["name"] == "evaluate"
    moved = weights.rename(tmp_path / "moved.pth")
    again = train_small(trained_copy, small, *settings, f"backbone.weights={moved}").answer
    assert all(stage["cached"] for stage in again["stages"])
    gone = train_small(trained_copy, small, *settings, f"backbone.weights={weights}")
    assert f"No such weights file: {weights}" in gone.sentence


# What stops a training.


def test_a_workspace_is_held_alone(trained_copy: Trained) -> None:
    with locked(Workspace(trained_copy.workspace), "train-flow"):
        sentence = trained_copy.train().sentence
    assert f"is in use by train-flow (process {os.getpid()} on " in sentence
    assert steps_run(trained_copy.train().answer) == set()


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (FloatingPointError("The loss is nan."), "FAILED", "scenekin: The loss is nan."),
        (KeyboardInterrupt(), "KILLED", "scenekin: Stopped."),
    ],
)
def test_a_training_that_ends_early_registers_nothing(
    trained_copy: Trained, error: BaseException, status: str, sentence: str
) -> None:
    def fail(_: Path) -> None:
        raise error

    with inject(FaultPoint.CANDIDATE_TRAINED, fail):
        assert trained_copy.train("regression.dimension=12").sentence == sentence
    assert trained_copy.training_runs()[0].info.status == status
    assert registered_versions(trained_copy.workspace) == [1]


def test_a_rate_at_which_training_diverges_is_never_the_best(trained_copy: Trained) -> None:
    sentence = trained_copy.train("candidates=[v_v]", "v_v.learning_rate=1e30").sentence
    assert "Training collapsed: all images got nearly the same embedding; lower learning_rate" in sentence
    assert registered_versions(trained_copy.workspace) == [1]


def test_a_candidate_that_cannot_win_is_stopped(trained_copy: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    """The regression is trained first; its score, in whole points, is to beat and part of the key."""
    beaten: list[object] = []
    train = triplet_stage.train_triplets

    def spy(*given: Any, **options: Any) -> Any:
        beaten.append(options["beat"])
        return train(*given, **{**options, "beat": 101})

    monkeypatch.setattr(triplet_stage, "train_triplets", spy)
    long = "v_v.refreshes=9", "v_v.patience=2"
    outcome = trained_copy.train(*long)
    assert steps_run(outcome.answer) >= {"triplets"}
    (candidate,) = (each for each in outcome.answer["candidates"] if each["method"] == "regression")
    assert beaten == [pytest.approx(candidate["metrics"]["ndcg_auc"] - 0.5, abs=0.6)]
    assert isinstance(beaten[0], int)
    assert "(V,V) was stopped after refresh 2 of 9" in Path(outcome.answer["report"]).read_text(encoding="utf-8")
    trained_copy.train(*long, "stop_hopeless=false")
    assert beaten[1:] == [None]


def test_a_loss_that_is_not_finite_ends_training(trained_copy: Trained) -> None:
    """P04: the loss, the step and the images are named; the run is FAILED, and what was registered stays so."""
    sentence = trained_copy.train("candidates=[v_v]", "v_v.margin=1e39").sentence
    assert re.search(r"Training stopped: the loss is (nan|inf) at update 1, in a batch with .+\.", sentence)
    assert trained_copy.training_runs()[0].info.status == "FAILED"
    assert registered_versions(trained_copy.workspace) == [1]


def test_a_candidate_that_collapsed_is_left_out_and_said(
    trained_copy: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triplet_loop, "COLLAPSED_SPREAD", 2.0)
    outcome = trained_copy.train("v_v.margin=0.11")
    assert [candidate["method"] for candidate in outcome.answer["candidates"]] == ["regression"]
    assert "(V,V) collapsed" in outcome.err
    assert "(V,V) stopped early at 1 of 3: training collapsed" in outcome.err
    assert "(V,V) collapsed" in Path(outcome.answer["report"]).read_text(encoding="utf-8")
    registered = registered_versions(trained_copy.workspace)
    assert "Training collapsed" in trained_copy.train("v_v.margin=0.11", "candidates=[v_v]").sentence
    assert registered_versions(trained_copy.workspace) == registered


LONG = ("candidates=[v_v]", "v_v.refreshes=40", "v_v.patience=40")


def start_and_signal(trained: Trained, number: int) -> Outcome:
    """How a long training in a process of its own ends, sent a signal after its first checkpoint."""
    words = [word for assignment in LONG for word in ("--set", assignment)]
    process = subprocess.Popen(
        [SCENEKIN, "train", trained.collection, "--config", trained.config, *words, "--workspace", trained.workspace],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while not list((trained.workspace / "work").glob("training/*/checkpoint.pt")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "no checkpoint was written"
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return Outcome(process.returncode, out, err)


def test_a_killed_training_is_taken_up_again(trained_copy: Trained) -> None:
    assert start_and_signal(trained_copy, signal.SIGKILL).code == -signal.SIGKILL
    (killed,) = (run for run in trained_copy.training_runs() if run.info.status == "RUNNING")
    (checkpoint,) = (trained_copy.workspace / "work").glob("training/*/checkpoint.pt")
    reached = torch.load(checkpoint, weights_only=True)["state"]["refresh"]
    assert 0 < reached < 40

    resumed_at = time.time_ns() // 1_000_000
    answer = trained_copy.train(*LONG).answer
    assert answer["run_id"] == killed.info.run_id
    assert {run.info.status for run in trained_copy.training_runs()} == {"FINISHED"}
    history = mlflow_client(trained_copy.workspace).get_metric_history(answer["run_id"], "validation_ndcg_auc")
    resumed = [metric.step for metric in history if metric.timestamp >= resumed_at]
    assert resumed == list(range(reached + 1, 41))
    assert registered_versions(trained_copy.workspace) == [1, 2]
    assert list((trained_copy.workspace / "work").glob("training/*")) == []


def test_a_terminated_training_says_so(trained_copy: Trained) -> None:
    assert start_and_signal(trained_copy, signal.SIGTERM).sentence == "scenekin: Stopped."
    assert trained_copy.training_runs()[0].info.status == "KILLED"
    assert registered_versions(trained_copy.workspace) == [1]
