import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.command import scenekin
from tests.trained import QUICK, Trained, change_caption, mlflow_client

METHODS = {
    "random",
    "captions",
    "baseline_gap",
    "baseline_gap_centred",
    "baseline_blocks_centred",
    "baseline_rmac",
    "baseline_rmac_pca",
    "baseline_rmac_mean_white",
    "v_v",
    "regression",
}


@pytest.fixture(scope="module")
def answer(trained: Trained) -> dict[str, Any]:
    """What the first evaluation answered."""
    answer: dict[str, Any] = json.loads((trained.workspace.parent / "evaluate.json").read_text())
    return answer


def test_the_answer_is_as_promised(answer: dict[str, Any]) -> None:
    assert answer.keys() == {
        *(
            "model",
            "method",
            "warning",
            "split",
            "queries",
            "left_out",
            "reference",
            "foreign",
            "cut_ranks",
            "methods",
            "words",
            "mixed",
            "report",
            "stages",
        )
    }
    assert answer["model"] == {"name": "scenekin", "version": 1, "aliases": ["champion"]}
    assert (answer["split"], answer["queries"], answer["left_out"]) == ("test", 21, 0)
    assert answer["cut_ranks"] == [32, 64, 128]
    assert answer["warning"] is None


def test_every_method_has_its_figures(answer: dict[str, Any]) -> None:
    assert answer["methods"].keys() == METHODS
    for figures in answer["methods"].values():
        assert {
            "label",
            "ndcg",
            "pcc",
            "ndcg_auc",
            "pcc_auc",
            "ndcg_auc_interval",
            "pcc_auc_interval",
        } <= figures.keys()
        assert figures["ndcg"].keys() == {"1", "2", "4", "8", "16"}
        assert figures["pcc"].keys() == {"4", "8", "16"}
        assert all(0 <= value <= 1 for value in figures["ndcg"].values())
        low, high = figures["ndcg_auc_interval"]
        assert 0 <= low <= figures["ndcg_auc"] <= high <= 100
    assert answer["methods"]["v_v"]["label"] == "(V,V)"


def test_the_trained_are_set_against_the_best_of_them(answer: dict[str, Any]) -> None:
    trained = {name: answer["methods"][name] for name in ("v_v", "regression")}
    best = max(trained, key=lambda name: trained[name]["ndcg_auc"])
    assert trained.pop(best)["to_best"] is None
    ((_, other),) = trained.items()
    assert other["to_best"]["over"] == best
    assert other["to_best"]["ndcg_auc"] == pytest.approx(other["ndcg_auc"] - answer["methods"][best]["ndcg_auc"])


def test_words_are_measured_where_the_model_knows_any(answer: dict[str, Any]) -> None:
    assert answer["words"].keys() == {"regression"}
    words = answer["words"]["regression"]
    assert words.keys() >= {"pairs", "without", "at_90", "at_80", "curve"}
    assert 0 < words["pairs"] <= 1000
    assert 0 <= words["without"] < words["at_80"] <= 1


def test_a_collection_without_training_captions_is_measured(
    trained: Trained, answer: dict[str, Any], tmp_path: Path
) -> None:
    assert (answer["reference"], answer["foreign"]) == ("train", False)
    for split in ("validation", "test"):
        shutil.copytree(trained.collection / split, tmp_path / "unseen" / split)
    outcome = scenekin("evaluate", tmp_path / "unseen", "--workspace", trained.workspace, "--json")
    alone = outcome.answer
    assert (alone["reference"], alone["foreign"], alone["queries"]) == ("test", True, 21)
    assert alone["methods"].keys() == METHODS
    assert alone["mixed"] == {}
    assert alone["methods"]["regression"]["ndcg_auc"] > alone["methods"]["random"]["ndcg_auc"]
    page = Path(alone["report"]).read_text(encoding="utf-8")
    assert "The models were trained on other captions: another collection, or this one before it changed" in page
    assert "relevance is computed from the words of the test split" in page
    text = scenekin("evaluate", tmp_path / "unseen", "--workspace", trained.workspace).out
    assert "The models were trained on other captions" in text


def test_the_evaluated_model_leads(trained_copy: Trained) -> None:
    """Even where another candidate of its training is better."""
    version = trained_copy.train("candidates=[v_v]").answer["model"]["version"]
    answer = trained_copy.run("evaluate", "--model", version).answer
    assert answer["method"] == "v_v"
    page = Path(answer["report"]).read_text(encoding="utf-8")
    assert "The evaluated model is <b>(V,V)</b>" in page
    assert f"<dt>Model</dt><dd>version {version}, (V,V)</dd>" in page
    assert "kept as challenger" not in page


def test_models_also_search_among_the_training_images(trained: Trained, answer: dict[str, Any]) -> None:
    assert answer["mixed"].keys() == {"v_v", "regression"}
    for mixed in answer["mixed"].values():
        assert 0 < mixed["ndcg_auc"] < 100
        assert 0 <= mixed["train_share"] <= 1
        assert mixed["train_share_expected"] == pytest.approx(98 / (98 + 20), abs=0.01)
    assert answer["mixed"]["v_v"]["word_train_share"] is None
    assert 0 <= answer["mixed"]["regression"]["word_train_share"] <= 1
    assert 0 <= answer["mixed"]["regression"]["image_and_word_train_share"] <= 1
    page = Path(answer["report"]).read_text(encoding="utf-8")
    assert "Search among training images" in page
    assert "R = 32, 64, 128 cannot be measured: a query ranks only 20 images." in page
    text = scenekin("evaluate", trained.collection, "--workspace", trained.workspace).out
    assert re.search(r"regression, with training images in the index: NDCG AUC [\d.]+; \d+% of the top 10", text)
    assert "Lists of 32, 64, 128 results cannot be measured" in text
    label = answer["methods"][answer["method"]]["label"]
    first, _, verdict, _, second, *_ = text.splitlines()
    assert first.startswith(f"scenekin version 1, {label}, on test: 21 queries")
    assert re.match(rf"  {label} (is|does) .* the best untrained baseline \(.*\): [+-]", verdict)
    assert second.split()[0] == label
    table = scenekin("evaluate", trained.collection, "--table", "--workspace", trained.workspace).out
    assert "Lists of 32, 64, 128 results cannot be measured" in table


def test_a_joint_model_is_also_asked_by_image_and_captions(trained_copy: Trained) -> None:
    quick = [f"vt_v.{name}={value}" for name, value in QUICK["v_v"].items()]
    version = trained_copy.train("candidates=[vt_v,regression]", *quick).answer["model"]["version"]
    answer = trained_copy.run("evaluate", "--model", version).answer
    assert answer["methods"].keys() == METHODS - {"v_v"} | {"vt_v", "vt_vt"}
    assert answer["words"].keys() == {"vt_v", "regression"}
    vt_v, vt_vt = answer["methods"]["vt_v"], answer["methods"]["vt_vt"]
    assert vt_vt["label"] == "(V+T,V+T)"
    assert vt_vt["ndcg_auc"] > vt_v["ndcg_auc"]
    assert vt_vt["to_best"] is None
    report = json.loads(Path(answer["report"]).with_name("report.json").read_text())
    assert {label for example in report["examples"] for label in example["hits"]} & {"(V+T,V+T)"} == set()
    assert len(report["steered"]) == 3
    assert all(len(hits) == 5 for example in report["steered"] for hits in example["hits"].values())


def test_the_ends_of_the_scale_are_where_they_should_be(answer: dict[str, Any]) -> None:
    auc = {name: figures["ndcg_auc"] for name, figures in answer["methods"].items()}
    assert auc["captions"] == pytest.approx(100)
    assert auc["random"] == min(auc.values())


def test_the_report_is_kept_and_attached(trained: Trained, answer: dict[str, Any]) -> None:
    report = Path(answer["report"])
    assert report.is_relative_to(trained.workspace / "reports")
    assert json.loads(report.with_name("report.json").read_text())["split"] == "test"
    champion = mlflow_client(trained.workspace).get_model_version_by_alias("scenekin", "champion")
    attached = mlflow_client(trained.workspace).list_artifacts(champion.run_id, "report/test")
    assert {"report/test/report.html", "report/test/report.json"} <= {file.path for file in attached}


def test_features_of_the_training_are_used_again(answer: dict[str, Any]) -> None:
    computed = [stage["name"] for stage in answer["stages"] if not stage["cached"]]
    assert computed == ["extract_features", *4 * ["embed_features"], "evaluate", "write_report"]


def test_evaluating_again_is_all_cached(trained: Trained, answer: dict[str, Any]) -> None:
    again = trained.run("evaluate").answer
    assert all(stage["cached"] for stage in again["stages"])
    assert {**again, "stages": []} == {**answer, "stages": []}


def test_the_settings_are_those_of_the_training(answer: dict[str, Any]) -> None:
    report = json.loads(Path(answer["report"]).with_name("report.json").read_text())
    assert report["config"]["backbone"]["size"] == 96
    assert report["config"]["v_v"]["dimension"] == 24


def test_the_split_that_was_trained_on_can_be_looked_at(trained: Trained) -> None:
    answer = trained.run("evaluate", "--split", "train").answer
    assert (answer["split"], answer["queries"]) == ("train", 98)
    assert (answer["mixed"], answer["cut_ranks"]) == ({}, [128])
    assert answer["methods"]["regression"]["ndcg_auc"] > answer["methods"]["baseline_gap"]["ndcg_auc"]


def test_another_test_caption_is_evaluated_anew(trained_copy: Trained) -> None:
    change_caption(trained_copy.collection, "test")
    stages = trained_copy.run("evaluate").answer["stages"]
    assert [stage["name"] for stage in stages if not stage["cached"]] == ["read_collection", "evaluate", "write_report"]


def test_the_model_has_to_be_there(trained: Trained) -> None:
    assert "no model 'challenger'" in trained.run("evaluate", "--model", "challenger").sentence
