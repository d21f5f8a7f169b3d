import io
from typing import Literal

import numpy as np
import pytest
from PIL import Image

from tasks.evaluation.charts import curve_chart, scatter_chart
from tasks.evaluation.summary import MethodSummary, summarise
from tests.tasks.evaluation.making import rankings

TRUTH = np.random.default_rng(0).random((30, 40))
NOISE = np.random.default_rng(1).random((30, 40))


@pytest.fixture(scope="module")
def summaries() -> dict[str, MethodSummary]:
    scores = {"captions": TRUTH, "random": NOISE, "baseline_gap": TRUTH + 2 * NOISE, "v_v": TRUTH + NOISE}
    return summarise(rankings(TRUTH, scores))


@pytest.mark.parametrize("which", ["ndcg", "pcc"])
def test_curves_are_the_same_png_every_time(summaries: dict[str, MethodSummary], which: Literal["ndcg", "pcc"]) -> None:
    picture = curve_chart(summaries, which)
    assert Image.open(io.BytesIO(picture)).size == (1040, 820)
    assert picture == curve_chart(summaries, which)
    assert picture != curve_chart({"v_v": summaries["v_v"]}, which)


def test_a_method_without_values_is_not_drawn(summaries: dict[str, MethodSummary]) -> None:
    undefined = summarise(rankings(TRUTH, {"v_v": np.zeros_like(TRUTH)}))["v_v"]
    with_it = curve_chart({"random": summaries["random"], "v_v": undefined}, "pcc")
    assert with_it == curve_chart({"random": summaries["random"]}, "pcc")
    assert curve_chart({"v_v": undefined}, "pcc").startswith(b"\x89PNG")


def test_the_scatter_has_a_panel_for_each_method_and_its_sample_a_seed() -> None:
    scores = {"baseline": TRUTH + 2 * NOISE, "trained": TRUTH + NOISE}
    wide = Image.open(io.BytesIO(scatter_chart(TRUTH, scores)))
    narrow = Image.open(io.BytesIO(scatter_chart(TRUTH, {"trained": scores["trained"]})))
    assert wide.width == 2 * narrow.width
    truth_QN = np.random.default_rng(2).random((100, 60))
    score = {"trained": truth_QN**2}
    assert scatter_chart(truth_QN, score, seed=1) == scatter_chart(truth_QN, score, seed=1)
    assert scatter_chart(truth_QN, score, seed=1) != scatter_chart(truth_QN, score, seed=2)
