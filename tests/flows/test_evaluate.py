import json
from pathlib import Path
from typing import Any

import pytest

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
    assert answer.keys() == {"model", "split", "queries", "left_out", "methods", "words", "report", "stages"}
    assert answer["model"] == {"name": "scenekin", "version": 1, "aliases": ["champion"]}
    assert (answer["split"], answer["queries"], answer["left_out"]) == ("test", 21, 0)


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
    assert computed == ["extract_features", "embed_features", "embed_features", "evaluate", "write_report"]


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
    assert answer["methods"]["regression"]["ndcg_auc"] > answer["methods"]["baseline_gap"]["ndcg_auc"]


def test_another_test_caption_is_evaluated_anew(trained_copy: Trained) -> None:
    change_caption(trained_copy.collection, "test")
    stages = trained_copy.run("evaluate").answer["stages"]
    assert [stage["name"] for stage in stages if not stage["cached"]] == ["read_collection", "evaluate", "write_report"]


def test_the_model_has_to_be_there(trained: Trained) -> None:
    assert "no model 'challenger'" in trained.run("evaluate", "--model", "challenger").sentence
