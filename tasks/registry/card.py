"""The model card: what a registered model is, what it learned from, how good it is, what it cannot do; as Markdown."""

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from pydantic import BaseModel, ConfigDict

from tasks.metrics.formatting import format_figure
from tasks.model.config import ModelConfig

WEIGHTS = "backbone.weights"
SETTINGS = 16  # that are listed: MLflow's registry has 5,000 characters for the whole
LONGEST = 40  # characters of a name or value from data
USES = {"train": "learned from", "validation": "chosen by", "test": "not looked at"}


class Difference(BaseModel):
    """What a method adds to another, `over`, in NDCG AUC."""

    model_config = ConfigDict(frozen=True)

    over: str
    ndcg_auc: float | None
    ndcg_auc_interval: tuple[float, float] | None


class Figures(BaseModel):
    """One method's AUCs, 0–100, and what it adds to the best untrained baseline and to the best trained method."""

    model_config = ConfigDict(frozen=True)

    label: str
    ndcg_auc: float | None
    ndcg_auc_interval: tuple[float, float] | None
    pcc_auc: float | None
    pcc_auc_interval: tuple[float, float] | None
    gain: Difference | None
    to_best: Difference | None


class Validated(BaseModel):
    """What a card takes from the report on validation."""

    model_config = ConfigDict(frozen=True)

    collection: str
    queries: int
    images: int
    left_out: int
    methods: Mapping[str, Figures]
    notes: tuple[str, ...]
    problem_counts: Mapping[str, int]


class Counts(BaseModel):
    """The captioned images of a split, and their captions."""

    model_config = ConfigDict(frozen=True)

    images: int
    captions: int


class CardFacts(BaseModel):
    """All that a card says; `settings` are those that differ from the defaults, `candidates` all that were trained."""

    model_config = ConfigDict(frozen=True)

    model: ModelConfig
    takes_words: bool
    language: str
    stems: int
    splits: Mapping[str, Counts]
    settings: Mapping[str, Any]
    candidates: tuple[str, ...]
    validated: Validated

    @property
    def best(self) -> Figures:
        """The figures of the model itself."""
        return self.validated.methods[self.model.method]


def changed_settings(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that differ from the defaults, under dotted names."""
    changed: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            inner = changed_settings(value, defaults[name])
            changed |= {f"{name}.{last}": each for last, each in inner.items()}
        elif value != defaults[name]:
            changed[name] = value
    return changed


def write_card(facts: CardFacts) -> str:
    """The card as Markdown, of about a page; what comes from data is escaped."""
    sections = {
        f"# scenekin: {facts.best.label}": _model(facts),
        "## Learned from": _data(facts),
        "## Figures on validation": _figures(facts),
        "## Use": _use(facts),
        "## What it cannot do": _limits(facts),
    }
    return "\n\n".join(f"{title}\n\n{text}" for title, text in sections.items()) + "\n"


def _model(facts: CardFacts) -> str:
    model = facts.model
    head = f"a kernel over {model.landmarks:,} training images" if model.landmarks else "a linear projection"
    words = "Words steer it." if facts.takes_words else "Words do not steer it."
    return (
        "An image embedding in which near means the same kind of scene, learned from captions. "
        f"Backbone `{model.backbone.name}`, {'fine-tuned' if model.finetuned else 'frozen'}; images at "
        f"{model.preprocessing.size} pixels on the longer side; pooling `{model.pooling.kind}`; {head}; "
        f"{model.dimension:,} dimensions, unit length. {words}"
    )


def _data(facts: CardFacts) -> str:
    rows = [
        (split, f"{counts.images:,}", f"{counts.captions:,}", USES[split]) for split, counts in facts.splits.items()
    ]
    problems = ", ".join(f"{kind} {count:,}" for kind, count in facts.validated.problem_counts.items())
    return "\n\n".join(
        (
            f"Collection **{_plain(facts.validated.collection)}**; {facts.stems:,} stems, in {_plain(facts.language)}.",
            _table(("split", "images with captions", "captions", "in training"), rows),
            f"Problems found in it: {problems or 'none'}.",
            _settings(facts.settings),
        )
    )


def _settings(settings: Mapping[str, Any]) -> str:
    if not settings:
        return "All settings are the defaults."
    told = {name: PurePath(value).name if name == WEIGHTS else value for name, value in settings.items()}
    shown = [f"`{name}` {_plain(str(value))}" for name, value in told.items()][:SETTINGS]
    more = [f"and {len(told) - SETTINGS} more"] if len(told) > SETTINGS else []
    return f"Settings that differ from the defaults: {', '.join([*shown, *more])}."


def _figures(facts: CardFacts) -> str:
    validated, best = facts.validated, facts.best
    others = sorted(
        (validated.methods[name] for name in facts.candidates if name != facts.model.method),
        key=lambda figures: -(figures.ndcg_auc or 0.0),
    )
    rows = [_row(f"**{best.label}**, this model", best, "")]
    rows += [_row(other.label, other, _behind(other.to_best)) for other in others]
    if best.gain is not None:
        baseline = validated.methods[best.gain.over]
        lead = _figure(best.gain.ndcg_auc, best.gain.ndcg_auc_interval)
        rows.append(_row(f"{baseline.label}, the best untrained", baseline, lead))
    judged = (
        f"{validated.queries:,} queries, each ranking {validated.images:,} other images; {validated.left_out:,} left "
        "out, which share no word with any. AUCs are 0–100, in brackets 95 % bootstrap intervals over queries; "
        "a lead whose interval holds 0 may be chance."
    )
    table = _table(("method", "NDCG AUC", "PCC AUC", "this model's lead in NDCG AUC"), rows)
    return "\n\n".join((judged, table, *validated.notes))


def _row(label: str, figures: Figures, lead: str) -> tuple[str, ...]:
    ndcg = _figure(figures.ndcg_auc, figures.ndcg_auc_interval)
    return label, ndcg, _figure(figures.pcc_auc, figures.pcc_auc_interval), lead


def _behind(to_best: Difference | None) -> str:
    """The lead over a method that adds this to the best."""
    if to_best is None or to_best.ndcg_auc is None or to_best.ndcg_auc_interval is None:
        return "–"
    low, high = to_best.ndcg_auc_interval
    return _figure(-to_best.ndcg_auc, (-high, -low))


def _use(facts: CardFacts) -> str:
    words = " --add snow --remove car" if facts.takes_words else ""
    return f"""Images in, as bytes; embeddings out, N × {facts.model.dimension}, whose dot product is the score.
With plain MLflow, its tracking URI set to this registry:

```python
model = mlflow.pyfunc.load_model("models:/scenekin@champion")  # or the alias or version of this page
embeddings = model.predict(pandas.DataFrame({{"image": [open("query.jpg", "rb").read()]}}))
```

With scenekin: `scenekin index COLLECTION`, then `scenekin search query.jpg{words}`."""


def _limits(facts: CardFacts) -> str:
    train, model = facts.splits["train"], facts.model
    stems = f"the {facts.stems:,} stems of its train captions, in one language ({_plain(facts.language)})"
    words = f"knows no words but {stems}" if facts.takes_words else f"takes no words, and learned by {stems}"
    weights = facts.settings.get(WEIGHTS)
    backbone = (
        "was trained on ImageNet and hands on its biases"
        if weights is None
        else f"started from {_plain(PurePath(weights).name)}; what that had learned, with its biases, is not known here"
    )
    holds = f"features of {model.landmarks:,} training images, not the images" if model.landmarks else "no images"
    limits = (
        f"It {words}.",
        f"It has seen {train.images:,} captioned images of one collection: on scenes unlike them it may be no better "
        "than the untrained network.",
        "It is made for kinds of scene, as captions tell them: not to recognise people, to read text, or to judge "
        "whether two images show the same thing or place.",
        "Its figures measure the similarity of captions, not people's judgement, on the split by which it was chosen, "
        "which flatters; `scenekin evaluate` measures the test split.",
        f"Its backbone {backbone}.",
        f"It holds {holds}; the licences of training images and captions remain their owners'.",
    )
    return "\n".join(f"- {limit}" for limit in limits)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _figure(value: float | None, interval: tuple[float, float] | None) -> str:
    """A figure with its interval in brackets; a dash where undefined."""
    bounds = "" if value is None or interval is None else " ({} to {})".format(*map(format_figure, interval))
    return f"{format_figure(value)}{bounds}"


def _plain(text: str) -> str:
    """Text from data on one line, cut to LONGEST, none of it read as Markdown or HTML."""
    line = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in " ".join(text.split()))
    cut = line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", html.escape(cut, quote=False))
