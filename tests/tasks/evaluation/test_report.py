import base64
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

from tasks.evaluation.charts import curve_chart, scatter_chart
from tasks.evaluation.report import Report, render_report
from tasks.evaluation.sheets import Example, Hit, result_sheet
from tasks.evaluation.steering import SteeringPoint, WordMetrics
from tasks.evaluation.summary import summarise
from tests.tasks.evaluation.making import rankings

HOSTILE = "<script>alert('\"')</script> & <img src=http://example.org/x.png>"


WORDS = WordMetrics(
    pairs=1234,
    without=0.04,
    without_interval=(0.03, 0.05),
    at_90=0.222,
    at_90_interval=(0.2, 0.24),
    at_80=0.32,
    at_80_interval=(0.3, 0.34),
    curve=(SteeringPoint(alpha=0, share=0.04, kept=1),),
)


def example(query_id: str, hits: dict[str, tuple[Hit, ...]]) -> Example:
    sheet = result_sheet(query_id, hits, lambda _: Image.new("RGB", (30, 20)))
    return Example(query_id=query_id, captions=(HOSTILE, "a dog"), hits=hits, sheet=sheet)


@pytest.fixture(scope="module")
def report() -> Report:
    rng = np.random.default_rng(0)
    truth = rng.random((20, 30)) ** 3
    noise = rng.random(truth.shape)
    scores = {"random": noise, "captions": truth, "baseline_gap": truth + 2 * noise, "v_v": truth + noise}
    methods = summarise(rankings(truth, scores | {"vt_v": truth + 1.5 * noise, "vt_vt": truth + noise / 4}))
    hits = {"(V,V)": (Hit(image_id="b", score=0.5, similarity=0.25, captions=(HOSTILE,)),)}
    return Report(
        title=HOSTILE,
        collection="scenes",
        split="test",
        model="scenekin version 1",
        queries=20,
        images=30,
        left_out=3,
        copies=7,
        methods=methods,
        notes=("Promoted to champion.",),
        seconds={"features": 12.345},
        problem_counts={"missing-image": 4},
        versions={"numpy": np.__version__},
        config={"model": {"pooling": HOSTILE}},
        words={"vt_v": WORDS},
        examples=(example("a", hits),),
        steered=(example("c", {"+ snow": hits["(V,V)"]}),),
        charts={
            "ndcg": curve_chart(methods, "ndcg"),
            "pcc": curve_chart(methods, "pcc"),
            "scatter": scatter_chart(truth, {"(V,V)": truth + noise}),
        },
    )


class Elements(HTMLParser):
    """Tags with their attributes, and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_everything_is_inside_one_file(report: Report) -> None:
    elements = Elements(render_report(report))
    assert not {tag for tag, _ in elements.tags} & {"script", "link", "iframe", "object", "base"}
    sources = [attributes["src"] for tag, attributes in elements.tags if tag == "img"]
    assert [attributes for _, attributes in elements.tags if "href" in attributes] == []
    assert len(sources) == 5
    for source in sources:
        head, data = (source or "").split(",", 1)
        picture = Image.open(io.BytesIO(base64.b64decode(data)))
        assert head == f"data:image/{(picture.format or '').lower()};base64"
    assert "url(" not in render_report(report)


def test_what_comes_from_data_is_text(report: Report) -> None:
    html = render_report(report)
    assert "<script" not in html
    assert "<img src=http" not in html
    assert Elements(html).text.count("<script>alert(") == 7  # title twice, captions, hits, setting


def test_figures_and_facts_are_told(report: Report) -> None:
    text = re.sub(r"\s+", " ", Elements(render_report(report)).text)
    method = report.methods["v_v"]
    assert f"The best trained method is (V,V): NDCG AUC {method.ndcg_auc:.1f} of 100" in text
    low, high = method.ndcg_auc_interval or (0, 0)
    assert f"{method.ndcg_auc:.1f} ({low:.1f} to {high:.1f})" in text
    for told in (
        "scenes",
        "test split",
        "Queries skipped3",
        "Queries with an exact copy7",
        "features12.3",
        "missing-image4",
        "95%",
    ):
        assert told in re.sub(r" ?\n ?", "", text), told


def test_the_best_figures_are_marked_the_oracle_aside(report: Report) -> None:
    best = re.findall(r'<td[^>]*class="best">\s*(\S+)', render_report(report))
    method = report.methods["v_v"]
    assert best == [f"{method.ndcg_auc:.1f}", f"{method.pcc_auc:.1f}"]


def test_what_asks_by_captions_is_set_apart(report: Report) -> None:
    text = re.sub(r"\s+", " ", Elements(render_report(report)).text)
    assert (report.methods["vt_vt"].ndcg_auc or 0) > (report.methods["v_v"].ndcg_auc or 0)
    _, told = text.split("Queried with image and captions")
    assert told.strip().startswith("These queries include the text that relevance is computed from")
    assert re.search(r"methods above\. \(V\+T,V\+T\) ", told)


def test_trained_methods_are_set_against_the_best_of_them(report: Report) -> None:
    row = re.sub(r"\s+", " ", Elements(render_report(report)).text).split("(V+T,V)")[1]
    to_best = report.methods["vt_v"].to_best
    assert to_best is not None
    assert f"-{-(to_best.ndcg_auc or 0):.1f}" in row
    assert f"PCC -{-(to_best.pcc_auc or 0):.1f}" in row
    assert report.methods["v_v"].to_best is None


def test_a_best_model_that_does_not_clearly_beat_the_best_baseline_is_marked(report: Report) -> None:
    marked = "It is not clearly better than this baseline"
    assert marked not in render_report(report)
    gain = report.methods["v_v"].gain
    assert gain is not None
    unclear = gain.model_copy(update={"ndcg_auc_interval": (-0.1, 2.0)})
    methods = {**report.methods, "v_v": report.methods["v_v"].model_copy(update={"gain": unclear})}
    assert marked in render_report(report.model_copy(update={"methods": methods}))


def test_the_evaluated_model_leads_even_where_another_is_better(report: Report) -> None:
    page = render_report(report.model_copy(update={"evaluated": "vt_v"}))
    text = re.sub(r"\s+", " ", Elements(page).text)
    assert "The evaluated model is (V+T,V): NDCG AUC" in text
    to_best = report.methods["vt_v"].to_best
    assert to_best is not None
    assert "The best method of its training is (V,V)" in text
    assert f"the evaluated model's difference from it is {to_best.ndcg_auc:.1f}" in text
    rows = text.split("Trained models")[1]
    assert rows.index("(V+T,V) evaluated model") < rows.index("(V,V) ")
    assert "best trained method is" not in text


@pytest.mark.parametrize(("queries", "told"), [(9, True), (10, False)])
def test_a_handful_of_queries_is_marked(report: Report, queries: int, told: bool) -> None:
    page = render_report(report.model_copy(update={"queries": queries}))
    assert (f"only {queries} queries were measured, and at least 10 are needed" in page) == told


def test_words_are_measured_and_shown(report: Report) -> None:
    text = re.sub(r"\s+", " ", Elements(render_report(report)).text)
    assert "2 to 10% of the images" in text
    assert "(V+T,V)4%(3to5)22%(20to24)32%(30to34)1,234" in text.replace(" ", "")
    assert "+ snow" in text.split("Example results with words")[1]


def test_json_holds_all_but_the_pictures(report: Report) -> None:
    text = report.model_dump_json()
    assert not re.search(r'"(charts|sheet)"', text)
    again = Report.model_validate_json(text)
    assert again.methods == report.methods
    assert again.words == report.words
    assert again.examples[0].hits == report.examples[0].hits
    assert again.charts == {}


def test_a_report_of_little_renders(report: Report) -> None:
    bare = Report(
        **{
            name: getattr(report, name)
            for name in ("collection", "split", "model", "queries", "images", "left_out", "copies")
        },
        title="validation",
        methods=summarise(rankings(np.array([[0.1, 0.2]]), {"random": np.ones((1, 2))})),
    )
    html = render_report(bare)
    assert "<img" not in html
    assert "best trained method" not in html
    assert "Example results with words" not in html
    assert "Effect of an added word" not in html
    assert "–" in html
