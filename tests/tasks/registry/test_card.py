import re
from typing import Any

import pytest

from tasks.images.config import Preprocessing
from tasks.model.config import BackboneConfig, ModelConfig, PoolingConfig
from tasks.registry.card import (
    LONGEST,
    SETTINGS,
    CardFacts,
    Counts,
    Difference,
    Figures,
    Validated,
    changed_settings,
    write_card,
)

MODEL = ModelConfig(
    method="regression",
    backbone=BackboneConfig(),
    preprocessing=Preprocessing(size=224),
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


def figures(label: str, ndcg_auc: float | None, **differences: Difference) -> Figures:
    return Figures(
        label=label,
        ndcg_auc=ndcg_auc,
        ndcg_auc_interval=None if ndcg_auc is None else (ndcg_auc - 1, ndcg_auc + 1),
        pcc_auc=-0.04,
        pcc_auc_interval=(-1.2, 1.1),
        **{"gain": None, "to_best": None, **differences},
    )


METHODS = {
    "random": figures("random", 12.0),
    "baseline_gap": figures("visual baseline GAP", 40.0),
    "v_v": figures("(V,V)", 45.0, to_best=Difference(over="regression", ndcg_auc=-5, ndcg_auc_interval=(-6.1, -3.9))),
    "vt_v": figures("(V+T,V)", 46.0, to_best=Difference(over="regression", ndcg_auc=-4, ndcg_auc_interval=(-9, 0.3))),
    "regression": figures(
        "regression", 50.0, gain=Difference(over="baseline_gap", ndcg_auc=10, ndcg_auc_interval=(8.5, 11.5))
    ),
}


def facts(**changes: Any) -> CardFacts:
    """The card's facts of a regression, with some of them changed; those of the report by their own names."""
    told = {"collection": "photos", "queries": 999, "images": 998, "left_out": 1, "methods": METHODS}
    validated = Validated(**{**told, "notes": (), "problem_counts": {}} | changes.pop("validated", {}))
    known = {
        "model": MODEL,
        "takes_words": True,
        "language": "english",
        "stems": 5048,
        "splits": SPLITS,
        "settings": {},
        "candidates": ("v_v", "vt_v", "regression"),
    }
    return CardFacts(**{**known, **changes}, validated=validated)


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
    card = write_card(facts())
    assert card.startswith("# scenekin: regression\n")
    for part in ("`efficientnet_lite0`, frozen", "224 pixels", "`blocks`", "6,000 training images", "512 dimensions"):
        assert part in card.partition("## ")[0]
    assert "`efficientnet_lite0`, fine-tuned" in write_card(facts(model=MODEL.model_copy(update={"finetuned": True})))


def test_it_says_what_it_learned_from() -> None:
    problems = {"missing-image": 2, "near-duplicate": 1234}
    told = section(write_card(facts(validated={"problem_counts": problems})), "Learned from")
    assert rows(told)[2:] == [
        ["train", "6,000", "30,000", "learned from"],
        ["validation", "1,000", "5,000", "chosen by"],
        ["test", "998", "4,990", "not looked at"],
    ]
    assert "Collection **photos**; 5,048 stems, in english." in told
    assert "Problems found in it: missing-image 2, near-duplicate 1,234." in told
    assert "Problems found in it: none." in write_card(facts())


def test_it_says_every_candidate_with_intervals_and_the_lead_over_it() -> None:
    pcc = "0.0 (−1.2 to 1.1)"
    assert rows(section(write_card(facts()), "Figures on validation"))[2:] == [
        ["**regression**, this model", "50.0 (49.0 to 51.0)", pcc, ""],
        ["(V+T,V)", "46.0 (45.0 to 47.0)", pcc, "4.0 (−0.3 to 9.0)"],
        ["(V,V)", "45.0 (44.0 to 46.0)", pcc, "5.0 (3.9 to 6.1)"],
        ["visual baseline GAP, the best untrained", "40.0 (39.0 to 41.0)", pcc, "10.0 (8.5 to 11.5)"],
    ]


def test_what_is_undefined_is_a_dash() -> None:
    methods = {**METHODS, "v_v": figures("(V,V)", None)}
    last = rows(section(write_card(facts(validated={"methods": methods})), "Figures on validation"))[-2]
    assert last == ["(V,V)", "–", "0.0 (−1.2 to 1.1)", "–"]


def test_a_lone_candidate_stands_beside_the_best_untrained() -> None:
    told = rows(section(write_card(facts(candidates=("regression",))), "Figures on validation"))
    assert [row[0] for row in told[2:]] == ["**regression**, this model", "visual baseline GAP, the best untrained"]


def test_it_says_which_candidates_were_left_out() -> None:
    told = section(write_card(facts(validated={"notes": ("v_v collapsed.",)})), "Figures on validation")
    assert told.endswith("\n\nv_v collapsed.")


@pytest.mark.parametrize(
    ("takes_words", "limit", "search"),
    [
        (True, "It knows no words but the 7 stems", "scenekin search query.jpg --add snow --remove car"),
        (False, "It takes no words, and learned by the 7 stems", "scenekin search query.jpg`"),
    ],
)
def test_it_says_whether_words_steer_it(takes_words: bool, limit: str, search: str) -> None:
    card = write_card(facts(takes_words=takes_words, stems=7, language="german"))
    assert f"{limit} of its train captions, in one language (german)." in section(card, "What it cannot do")
    assert search in section(card, "Use")


def test_it_says_where_the_backbone_comes_from_and_no_path() -> None:
    assert "trained on ImageNet" in section(write_card(facts()), "What it cannot do")
    card = write_card(facts(settings={"backbone.weights": "/home/someone/my_net.pth"}))
    limits = section(card, "What it cannot do")
    assert "ImageNet" not in limits
    assert r"started from my\_net.pth" in limits
    assert r"`backbone.weights` my\_net.pth" in card
    assert "someone" not in card


def test_it_says_whose_features_it_holds() -> None:
    assert "features of 6,000 training images" in write_card(facts())
    linear = write_card(facts(model=MODEL.model_copy(update={"landmarks": 0})))
    assert "a linear projection" in linear
    assert "It holds no images" in linear


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
    card = write_card(facts(validated={"collection": name}, settings={"collection.caption_column": name}))
    assert f"Collection **{expected}**;" in card
    assert f"`collection.caption_column` {expected}." in card
    card.encode()


def test_settings_are_told_up_to_a_number() -> None:
    assert "All settings are the defaults." in write_card(facts())
    settings = {f"group.setting_{number}": number for number in range(SETTINGS + 3)}
    told = section(write_card(facts(settings=settings)), "Learned from")
    assert told.endswith(f"`group.setting_{SETTINGS - 1}` {SETTINGS - 1}, and 3 more.")
    exactly = dict(list(settings.items())[:SETTINGS])
    assert "more." not in section(write_card(facts(settings=exactly)), "Learned from")


def test_changed_settings_have_dotted_names() -> None:
    regression = {"penalties": [1, 2], "pooling": {"kind": "blocks", "scales": 2}}
    defaults = {"seed": 0, "regression": regression, "weights": None}
    settings = {"seed": 0, "regression": {"penalties": [1], "pooling": {"kind": "gap", "scales": 2}}, "weights": "x"}
    changed = {"regression.penalties": [1], "regression.pooling.kind": "gap", "weights": "x"}
    assert changed_settings(settings, defaults) == changed
    assert changed_settings(defaults, defaults) == {}


def test_the_longest_card_fits_what_a_registry_holds() -> None:
    settings = {f"v_v.a_long_name_of_a_setting_{number}": "x" * 200 for number in range(60)}
    problems = {f"a-long-kind-of-problem-{number}": 100_000 for number in range(20)}
    card = write_card(facts(settings=settings, validated={"collection": "x" * 300, "problem_counts": problems}))
    assert len(write_card(facts())) < len(card) <= 5000
