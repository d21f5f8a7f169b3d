import json
from typing import Any

import pytest
from pydantic import ValidationError

from flows.config import Config, registered_settings
from tasks.errors import InputError
from tasks.features.task import extract_features, features_of

BASELINES = ["gap", "rmac_max", "rmac_mean", "blocks"]


def config(**values: Any) -> Config:
    return Config.model_validate(values)


def poolings(config: Config) -> list[str]:
    return [pooling.kind for pooling in config.all_poolings()]


def test_a_default_is_there_for_everything() -> None:
    assert Config() == config() == Config.model_validate_json(Config().model_dump_json())


def test_the_baselines_poolings_are_always_among_the_features() -> None:
    assert poolings(config(candidates=["regression"])) == BASELINES
    assert poolings(config()) == BASELINES
    assert poolings(config(v_v={"pooling": {"kind": "gem"}})) == [*BASELINES, "gem"]


def test_no_pooling_is_computed_twice() -> None:
    regression = {"pooling": {"kind": "gap"}}
    assert poolings(config(regression=regression, v_v={"pooling": {"kind": "gap"}})) == BASELINES
    scaled = {"pooling": {"kind": "rmac_max", "scales": 3}}
    assert poolings(config(regression=regression, v_v=scaled)) == [*BASELINES, "rmac_max"]
    with pytest.raises(ValidationError, match="must be blocks, gap or gem"):
        config(regression={"pooling": {"kind": "rmac_max"}})


def test_several_networks_are_a_list_and_one_is_a_section() -> None:
    networks = [{"name": "efficientnet_lite2", "size": 288}, {"name": "efficientnet_lite0"}]
    several, one = config(backbone=networks), config(backbone=networks[0])
    assert [network.name for network in several.backbone] == ["efficientnet_lite2", "efficientnet_lite0"]
    assert [network["size"] for network in several.model_dump()["backbone"]] == [288, None]
    assert one.model_dump()["backbone"]["size"] == 288
    for each in (several, one):
        assert Config.model_validate_json(each.model_dump_json()) == each
    assert [(each.name, each.size) for each in config(backbone={"size": 96}).backbone] == [
        ("efficientnet_lite2", 96),
        ("efficientnet_lite1", 96),
    ]
    with pytest.raises(ValidationError, match="listed only once"):
        config(backbone=[networks[0], networks[0]])


@pytest.mark.parametrize(
    "values", [{"candidates": ["joined"]}, {"candidates": ["finetuned"]}, {"v_v": {"backbone": "finetuned"}}]
)
def test_an_exported_network_is_not_trained_further(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"an exported network cannot be trained further: mine\.pt2"):
        config(backbone={"name": "mine.pt2"}, **values)
    assert config(backbone={"name": "mine.pt2"}).result_settings().backbone[0].name == "mine.pt2"


def test_regions_are_computed_by_the_first_network_and_images_are_decoded_for_the_largest() -> None:
    settings = config(backbone=[{"size": 96}, {"name": "efficientnet_lite2", "size": 160}])
    first, second = features_of(settings.backbone, settings.all_poolings())
    assert [pooling.kind for pooling in first.poolings] == BASELINES
    assert [pooling.kind for pooling in second.poolings] == ["gap", "blocks"]
    assert (first.network.preprocessing.decoded_size, second.network.preprocessing.decoded_size) == (160, None)


def test_features_at_hand_serve_no_candidate_whose_backbone_is_trained() -> None:
    assert config().finetuned() == {"finetuned", "joined"}
    assert config(v_v={"backbone": "finetuned"}).finetuned() == {"finetuned", "joined", "v_v"}


def test_where_and_how_fast_is_no_part_of_an_answer() -> None:
    moved = config(
        runtime={"device": "cpu", "workers": 7, "dask": False},
        index={"keep": 1},
        backbone={"weights": "/elsewhere/w.pth"},
    )
    assert [network.weights for network in moved.backbone] == ["/elsewhere/w.pth"] * 2
    assert moved.result_settings() == Config()
    assert config(seed=1).result_settings() != Config()


def test_a_stages_key_does_not_know_where_the_weights_lie() -> None:
    here, there = (
        features_of(settings.backbone, settings.all_poolings())
        for settings in (config(backbone={"weights": path}) for path in ("/here/w.pth", "/there/w.pth"))
    )
    assert extract_features.key("images", here, "digest") == extract_features.key("images", there, "digest")
    assert extract_features.key("images", here, "digest") != extract_features.key("images", here, "another")


@pytest.mark.parametrize(
    "values",
    [
        {"sede": 1},
        {"v_v": {"margins": 1}},
        {"candidates": []},
        {"candidates": ["vgg"]},
        {"v_v": {"margin": 0}},
        {"backbone": {"size": 8}},
        {"runtime": {"workers": 0}},
        {"index": {"keep": -1}},
        {"captions": {"language": "klingon"}},
        {"collection": {"test_fraction": 0.5, "validation_fraction": 0.5}},
    ],
)
def test_what_cannot_be_set_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Config.model_validate(values)


def test_a_config_does_not_change() -> None:
    with pytest.raises(ValidationError):
        Config().seed = 3  # type: ignore[misc]


def test_sections_are_read_by_their_former_names_too() -> None:
    former = config(triplets={"margin": 0.3}, joint={"batch": 7}, ridge={"dimension": 8})
    assert former == config(v_v={"margin": 0.3}, vt_v={"batch": 7}, regression={"dimension": 8})
    with pytest.raises(ValidationError, match="ridge is the former name of regression"):
        config(ridge={"dimension": 8}, regression={"dimension": 9})


def test_columns_of_an_earlier_run_are_used_unless_others_are_set() -> None:
    trained = Config().with_columns({"caption_column": ("Beschreibung", "Titel"), "encoding": "cp1252"})
    columns = json.loads(json.dumps(trained.collection.columns))  # as manifests store them
    assert Config().with_missing_columns(columns).collection == trained.collection
    own = Config().with_columns({"caption_column": "Titel"})
    assert own.with_missing_columns(columns) == own
    assert own.with_missing_columns({}) == own
    other = Config(seed=3).with_missing_columns(columns)
    assert (other.seed, other.collection.caption_columns) == (3, ("Beschreibung", "Titel"))


def test_settings_of_a_model_of_another_version_are_one_sentence() -> None:
    assert registered_settings(3, '{"seed": 4}') == config(seed=4)
    with pytest.raises(
        InputError, match=r"^Cannot read the settings of model 3: unknown setting v_v\.sampler .*again\.$"
    ):
        registered_settings(3, '{"v_v": {"sampler": "any_pair"}}')
