import re
from typing import Any

import pytest

from tasks.evaluation.report import Report
from tasks.evaluation.summary import Difference, MethodSummary
from tasks.images.config import Preprocessing
from tasks.model.config import BackboneConfig, ModelConfig, NetworkConfig, PoolingConfig
from tasks.registry.card import LONGEST, SETTINGS, CardContent, Counts, changed_settings, write_card

MODEL = ModelConfig(
    method="regression",
    networks=(NetworkConfig(backbone=BackboneConfig(), preprocessing=Preprocessing(size=224), licence="apache-2.0"),),
    pooling=PoolingConfig(kind="blocks"),
    channels=3704,
    dimension=512,
    landmarks=6000,
)
SPLITS = {
    "train": Counts(images=6000, captions=30_000),
    "validation": Counts(images=1000, captions=5000),
    "test": Counts(images=998, captions=4990),
}


def summary(label: str, ndcg_auc: float | None, **differences: Difference) -> MethodSummary:
    return MethodSummary(
        label=label,
        ndcg={},
        pcc={},
        ndcg_auc=ndcg_auc,
        ndcg_auc_interval=None if ndcg_auc is None else (ndcg_auc - 1, ndcg_auc + 1),
        ndcg_auc_linear=ndcg_auc,
        ndcg_left_out=0,
        pcc_auc=-0.04,
        pcc_auc_interval=(-1.2, 1.1),
        pcc_auc_linear=0,
        pcc_left_out=0,
        **differences,
    )


def difference(over: str, ndcg_auc: float, interval: tuple[float, float]) -> Difference:
    return Difference(
        over=over, pcc_over=over, ndcg_auc=ndcg_auc, ndcg_auc_interval=interval, pcc_auc=None, pcc_auc_interval=None
    )


METHODS = {
    "random": summary("random", 12.0),
    "baseline_gap": summary("GAP", 40.0),
    "v_v": summary("(V,V)", 45.0, to_best=difference("regression", -5, (-6.1, -3.9))),
    "vt_v": summary("(V+T,V)", 46.0, to_best=difference("regression", -4, (-9, 0.3))),
    "regression": summary("regression", 50.0, gain=difference("baseline_gap", 10, (8.5, 11.5))),
}


def content(**changes: Any) -> CardContent:
    """The content of a regression's card with some values changed; those of the report under `validation`."""
    report = {"title": "", "collection": "photos", "split": "validation", "model": "regression", "copies": 0}
    report |= {"queries": 999, "images": 998, "left_out": 1, "methods": METHODS} | changes.pop("validation", {})
    defaults = {
        "model": MODEL,
        "takes_words": True,
        "language": "english",
        "stems": 5048,
        "splits": SPLITS,
        "settings": {},
        "candidates": ("v_v", "vt_v", "regression"),
    }
    return CardContent(**{**defaults, **changes}, validation=Report(**report))


def section(card: str, title: str) -> str:
    """What stands under a heading."""
    found = re.search(rf"^## {title}\n\n(.*?)(?=\n\n## |\Z)", card, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


def rows(text: str) -> list[list[str]]:
    """The cells of the table in a section, as a reader of Markdown splits them."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_it_says_what_the_model_is() -> None:
    card = write_card(content())
    assert card.startswith("# scenekin: regression\n")
    for part in (
        "`efficientnet_lite0` (licence of its weights: apache-2.0), frozen, images at 224 pixels on the longer side;",
        "`blocks`",
        "6,000 training images",
        "512 dimensions",
    ):
        assert part in card.partition("## ")[0]
    networks = (MODEL.networks[0].model_copy(update={"finetuned": True}),)
    assert "apache-2.0), fine-tuned" in write_card(content(model=MODEL.model_copy(update={"networks": networks})))


def test_it_says_what_it_learned_from() -> None:
    problems = {"missing-image": 2, "near-duplicate": 1234}
    told = section(write_card(content(validation={"problem_counts": problems})), "Training data")
    assert rows(told)[2:] == [
        ["train", "6,000", "30,000", "training"],
        ["validation", "1,000", "5,000", "model selection"],
        ["test", "998", "4,990", "none"],
    ]
    assert "Collection **photos**; vocabulary of 5,048 stems, language: english." in told
    assert "Problems in the collection: missing-image 2, near-duplicate 1,234." in told
    assert "Problems in the collection: none." in write_card(content())


def test_it_says_every_candidate_with_intervals_and_the_lead_over_it() -> None:
    pcc = "0.0 (-1.2 to 1.1)"
    assert rows(section(write_card(content()), "Metrics on validation"))[2:] == [
        ["**regression**, this model", "50.0 (49.0 to 51.0)", pcc, ""],
        ["(V+T,V)", "46.0 (45.0 to 47.0)", pcc, "4.0 (-0.3 to 9.0)"],
        ["(V,V)", "45.0 (44.0 to 46.0)", pcc, "5.0 (3.9 to 6.1)"],
        ["GAP, the best untrained baseline", "40.0 (39.0 to 41.0)", pcc, "10.0 (8.5 to 11.5)"],
    ]


def test_what_is_undefined_is_a_dash() -> None:
    methods = {**METHODS, "v_v": summary("(V,V)", None)}
    last = rows(section(write_card(content(validation={"methods": methods})), "Metrics on validation"))[-2]
    assert last == ["(V,V)", "–", "0.0 (-1.2 to 1.1)", "–"]


def test_a_lone_candidate_stands_beside_the_best_untrained() -> None:
    told = rows(section(write_card(content(candidates=("regression",))), "Metrics on validation"))
    assert [row[0] for row in told[2:]] == ["**regression**, this model", "GAP, the best untrained baseline"]


def test_the_untrained_network_is_set_beside_what_it_was_chosen_over() -> None:
    untrained = MODEL.model_copy(update={"method": "untrained", "landmarks": 0, "scaled": True})
    methods = {
        "baseline_gap": summary("GAP", 40.0),
        "untrained": summary("untrained", 40.0, gain=difference("baseline_gap", 0, (0, 0))),
        "regression": summary("regression", 39.0, gain=difference("baseline_gap", -1, (-3, 1))),
    }
    candidates = ("regression", "untrained")
    card = write_card(
        content(model=untrained, takes_words=False, candidates=candidates, validation={"methods": methods})
    )
    table = rows(section(card, "Metrics on validation"))
    assert [(row[0], row[-1]) for row in table[2:]] == [
        ("**untrained**, this model", ""),
        ("regression", "1.0 (-1.0 to 3.0)"),
    ]
    assert "of an untrained network's features" in card
    assert "pooling `blocks`; centred and scaled;" in card
    limits = section(card, "Limitations")
    assert "It cannot be searched by words.\n" in limits
    assert "It learned nothing from captions; only its centre and scale come from 6,000 images." in limits


def test_it_says_which_candidates_were_left_out() -> None:
    told = section(write_card(content(validation={"notes": ("(V,V) collapsed.",)})), "Metrics on validation")
    assert told.endswith("\n\n(V,V) collapsed.")


@pytest.mark.parametrize(
    ("takes_words", "limit", "search"),
    [
        (True, "It knows only the 7 stems", "scenekin search query.jpg --add snow --remove car"),
        (False, "It cannot be searched by words; it was trained on the 7 stems", "scenekin search query.jpg`"),
    ],
)
def test_it_says_whether_words_steer_it(takes_words: bool, limit: str, search: str) -> None:
    card = write_card(content(takes_words=takes_words, stems=7, language="german"))
    assert f"{limit} of its training captions (german)." in section(card, "Limitations")
    assert search in section(card, "Usage")


def test_it_says_where_the_backbone_comes_from_and_no_path() -> None:
    assert "trained on ImageNet" in section(write_card(content()), "Limitations")
    network = NetworkConfig(backbone=BackboneConfig(name="timm/vit_small"), preprocessing=Preprocessing())
    timm = MODEL.model_copy(update={"networks": (*MODEL.networks, network)})
    assert "ImageNet" not in section(write_card(content(model=timm)), "Limitations")
    card = write_card(content(settings={"backbone.weights": "/home/someone/my_net.pth"}))
    beside = write_card(content(settings={"backbone.2.weights": "/home/someone/other.pth"}))
    assert "loaded from other.pth" in section(beside, "Limitations")
    limits = section(card, "Limitations")
    assert "ImageNet" not in limits
    assert r"loaded from my\_net.pth" in limits
    assert r"`backbone.weights` my\_net.pth" in card
    assert "someone" not in card


def test_it_says_whose_features_it_holds() -> None:
    assert "features of 6,000 training images" in write_card(content())
    linear = write_card(content(model=MODEL.model_copy(update={"landmarks": 0})))
    assert "a linear projection" in linear
    assert "It contains no images" in linear


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a|b", r"a\|b"),
        ("two\nlines\t and\u2028more", "two lines and more"),
        ("*bold* _under_ `code`", r"\*bold\* \_under\_ \`code\`"),
        ("[link](http://x)", r"\[link\](http://x)"),
        ("<script>&amp;", "&lt;script&gt;&amp;amp;"),
        ("back\\|slash", r"back\\\|slash"),
        ("turned\u202e", r"turned\\u202e"),
        ("\udcff", r"\\udcff"),
        ("x" * 500, "x" * (LONGEST - 1) + "…"),
    ],
)
def test_what_comes_from_data_is_text_on_one_line(name: str, expected: str) -> None:
    card = write_card(content(validation={"collection": name}, settings={"collection.caption_column": name}))
    assert f"Collection **{expected}**;" in card
    assert f"`collection.caption_column` {expected}." in card
    card.encode()


def test_settings_are_told_up_to_a_number() -> None:
    assert "All settings are at their defaults." in write_card(content())
    settings = {f"group.setting_{number}": number for number in range(SETTINGS + 3)}
    told = section(write_card(content(settings=settings)), "Training data")
    assert told.endswith(f"`group.setting_{SETTINGS - 1}` {SETTINGS - 1}, and 3 more.")
    exactly = dict(list(settings.items())[:SETTINGS])
    assert "more." not in section(write_card(content(settings=exactly)), "Training data")


def test_changed_settings_have_dotted_names() -> None:
    regression = {"penalties": [1, 2], "pooling": {"kind": "blocks", "scales": 2}}
    defaults = {"seed": 0, "regression": regression, "weights": None}
    settings = {"seed": 0, "regression": {"penalties": [1], "pooling": {"kind": "gap", "scales": 2}}, "weights": "x"}
    changed = {"regression.penalties": [1], "regression.pooling.kind": "gap", "weights": "x"}
    assert changed_settings(settings, defaults) == changed
    assert changed_settings(defaults, defaults) == {}


def test_networks_are_compared_with_a_default_one() -> None:
    usual = {"name": "a", "size": 288, "mirror": False}
    defaults = {"backbone": [usual, {**usual, "name": "b"}]}
    assert changed_settings({"backbone": {**usual, "size": 320}}, defaults) == {"backbone.size": 320}
    three = [*defaults["backbone"], {**usual, "name": "c", "mirror": True}]
    assert changed_settings({"backbone": three}, defaults) == {"backbone.3.name": "c", "backbone.3.mirror": True}


def test_the_longest_card_fits_what_a_registry_holds() -> None:
    settings = {f"v_v.a_long_name_of_a_setting_{number}": "x" * 200 for number in range(60)}
    problems = {f"a-long-kind-of-problem-{number}": 100_000 for number in range(20)}
    card = write_card(content(settings=settings, validation={"collection": "x" * 300, "problem_counts": problems}))
    assert len(write_card(content())) < len(card) <= 5000
