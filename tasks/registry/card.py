"""The model card as Markdown: what a model is, its training data, its metrics and its limits."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from pydantic import BaseModel, ConfigDict

from tasks.evaluation.methods import method_kind
from tasks.evaluation.report import Report
from tasks.evaluation.summary import Difference, MethodSummary, doubt_quality
from tasks.metrics.formatting import format_with_interval
from tasks.model.config import BACKBONES, ModelConfig, NetworkConfig
from tasks.model.licences import describe_licence
from tasks.phrases import counted

LISTED = re.compile(r"^(\w+)\.(?:\d+\.)?(\w+)$")  # a setting of a section that may be one of a list
WEIGHTS = re.compile(r"backbone(\.\d+)?\.weights")
SETTINGS = 16  # listed at most: MLflow's registry limits a description to 5,000 characters
LONGEST = 40  # characters of a name or value from data
USES = {"train": "training", "validation": "model selection", "test": "none"}


class Counts(BaseModel):
    """The number of captioned images of a split, and of their captions."""

    model_config = ConfigDict(frozen=True)

    images: int
    captions: int


class CardContent(BaseModel):
    """The content of a card: `settings` differ from the defaults, `candidates` are all trained methods.

    `validation` is the report on the validation split.
    """

    model_config = ConfigDict(frozen=True)

    model: ModelConfig
    takes_words: bool
    language: str
    stems: int
    splits: Mapping[str, Counts]
    settings: Mapping[str, Any]
    candidates: tuple[str, ...]
    validation: Report

    @property
    def trained(self) -> bool:
        """Whether captions were learned from; the candidate `untrained` is the network's own features."""
        return method_kind(self.model.method) == "trained"

    @property
    def best(self) -> MethodSummary:
        """The metrics of the model itself."""
        return self.validation.methods[self.model.method]


def changed_settings(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that differ from the defaults, by dotted name.

    A section of a list that has no counterpart among the defaults is compared with their first one.
    """
    usual = dict(_dotted(defaults))

    def default_of(name: str) -> Any:
        first = LISTED.sub(r"\1.1.\2", name)
        return usual.get(name, usual.get(first))

    return {name: value for name, value in _dotted(settings) if value != default_of(name)}


def _dotted(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield dotted names and values; the sections of a list are numbered from 1."""
    for name, value in settings.items():
        inner = value
        if isinstance(value, list | tuple) and any(isinstance(each, Mapping) for each in value):
            inner = {str(number): each for number, each in enumerate(value, start=1)}
        if isinstance(inner, Mapping):
            yield from ((f"{name}.{last}", each) for last, each in _dotted(inner))
        else:
            yield name, value


def write_card(content: CardContent) -> str:
    """Write the card, about a page of Markdown; data is escaped."""
    sections = {
        f"# scenekin: {content.best.label}": _model(content),
        "## Training data": _data(content),
        "## Metrics on validation": _metrics(content),
        "## Usage": _usage(content),
        "## Limitations": _limits(content),
    }
    return "\n\n".join(f"{title}\n\n{text}" for title, text in sections.items()) + "\n"


def _model(content: CardContent) -> str:
    model = content.model
    head = "centred and scaled" if model.scaled else "a linear projection"
    head = f"a kernel over {model.landmarks:,} training images" if model.landmarks else head
    words = "Words can steer a search." if content.takes_words else "Words cannot steer a search."
    source = "learned from captions" if content.trained else "of an untrained network's features"
    return (
        f"An image embedding, {source}, in which images of similar scenes are close. "
        f"{'; '.join(map(_network, model.networks))}; "
        f"pooling `{model.pooling.kind}`; {head}; "
        f"{model.dimension:,} dimensions, unit length. {words}"
    )


def _network(network: NetworkConfig) -> str:
    name, licence = network.backbone.name, _plain(describe_licence(network.licence))
    kind = "fine-tuned" if network.finetuned else "frozen"
    return f"Backbone `{name}` ({licence}), {kind}, images at {network.preprocessing.size} pixels on the longer side"


def _data(content: CardContent) -> str:
    rows = [
        (split, f"{counts.images:,}", f"{counts.captions:,}", USES[split]) for split, counts in content.splits.items()
    ]
    problems = ", ".join(f"{kind} {count:,}" for kind, count in content.validation.problem_counts.items())
    collection, language = _plain(content.validation.collection), _plain(content.language)
    return "\n\n".join(
        (
            f"Collection **{collection}**; vocabulary of {content.stems:,} stems, language: {language}.",
            _table(("Split", "Captioned images", "Captions", "Used for"), rows),
            f"Problems in the collection: {problems or 'none'}.",
            _settings(content.settings),
        )
    )


def _settings(settings: Mapping[str, Any]) -> str:
    if not settings:
        return "All settings are at their defaults."
    shown = {
        name: PurePath(value).name if value and WEIGHTS.fullmatch(name) else value for name, value in settings.items()
    }
    listed = [f"`{name}` {_plain(str(value))}" for name, value in shown.items()][:SETTINGS]
    more = [f"and {len(shown) - SETTINGS} more"] if len(shown) > SETTINGS else []
    return f"Settings that differ from the defaults: {', '.join([*listed, *more])}."


def _metrics(content: CardContent) -> str:
    validation, best = content.validation, content.best
    others = sorted(
        (validation.methods[name] for name in content.candidates if name != content.model.method),
        key=lambda method: -(method.ndcg_auc or 0.0),
    )
    rows = [_row(f"**{best.label}**, this model", best, "")]
    # The untrained candidate is itself the baseline that others are compared with.
    rows += [_row(other.label, other, _lead_over(other.to_best if content.trained else other.gain)) for other in others]
    if best.gain is not None and content.trained:
        baseline = validation.methods[best.gain.over]
        lead = format_with_interval(best.gain.ndcg_auc, best.gain.ndcg_auc_interval)
        rows.append(_row(f"{baseline.label}, the best untrained baseline", baseline, lead))
    queries, skipped = (counted(each, "query", "queries") for each in (validation.queries, validation.left_out))
    explanation = (
        f"{queries}, each ranking {counted(validation.images, 'other image')}; {skipped} without any relevant image "
        "skipped. AUCs are at most 100, with 95% intervals in brackets; a lead is significant if its interval "
        "does not include 0."
    )
    table = _table(("Method", "NDCG AUC", "PCC AUC", "This model's lead in NDCG AUC"), rows)
    doubt = doubt_quality(validation.queries, validation.methods)
    doubts = () if doubt is None else (f"**The quality of this model is not established:** {doubt}.",)
    return "\n\n".join((explanation, *doubts, table, *validation.notes))


def _row(label: str, method: MethodSummary, lead: str) -> tuple[str, ...]:
    ndcg = format_with_interval(method.ndcg_auc, method.ndcg_auc_interval)
    return label, ndcg, format_with_interval(method.pcc_auc, method.pcc_auc_interval), lead


def _lead_over(difference: Difference | None) -> str:
    """Format the model's lead over a method, the opposite of the method's difference to it."""
    if difference is None or difference.ndcg_auc is None or difference.ndcg_auc_interval is None:
        return format_with_interval(None, None)
    low, high = difference.ndcg_auc_interval
    return format_with_interval(-difference.ndcg_auc, (-high, -low))


def _usage(content: CardContent) -> str:
    words = " --add snow --remove car" if content.takes_words else ""
    dimension = content.model.dimension
    return f"""Input: image bytes. Output: embeddings, N × {dimension}. The score of two images is their dot product.
With plain MLflow and this registry as tracking URI:

```python
model = mlflow.pyfunc.load_model("models:/scenekin@champion")  # or another alias or version
embeddings = model.predict(pandas.DataFrame({{"image": [open("query.jpg", "rb").read()]}}))
```

With scenekin: `scenekin index COLLECTION`, then `scenekin search query.jpg{words}`."""


def _limits(content: CardContent) -> str:
    train, model = content.splits["train"], content.model
    stems = f"the {content.stems:,} stems of its training captions ({_plain(content.language)})"
    words = f"knows only {stems}" if content.takes_words else f"cannot be searched by words; it was trained on {stems}"
    learned = (
        f"was trained on {train.images:,} captioned images of one collection; on other kinds of scenes it may be no "
        "better than the untrained network"
    )
    if not content.trained:
        words = "cannot be searched by words"
        learned = f"learned nothing from captions; only its centre and scale come from {train.images:,} images"
    files = [value for name, value in content.settings.items() if WEIGHTS.fullmatch(name) and value is not None]
    names = {network.backbone.name for network in model.networks}
    if files:
        loaded = ", ".join(_plain(PurePath(file).name) for file in files)
        backbone = f"was loaded from {loaded}; its training data and biases are unknown"
    elif names <= {*BACKBONES}:
        backbone = "was trained on ImageNet and inherits its biases"
    else:
        backbone = "inherits the biases of the images that its published weights were trained on"
    holds = f"features of {model.landmarks:,} training images, not the images" if model.landmarks else "no images"
    limits = (
        f"It {words}.",
        f"It {learned}.",
        "It compares kinds of scene as captions describe them. It cannot recognise people, read text, or decide "
        "whether two images show the same object or place.",
        "Its metrics measure caption similarity, not human judgement, and are optimistic because the model was "
        "selected on this split; `scenekin evaluate` measures the test split.",
        f"Its backbone {backbone}.",
        f"It contains {holds}; training images and captions keep their owners' licences.",
    )
    return "\n".join(f"- {limit}" for limit in limits)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _plain(text: str) -> str:
    """Put text from data on one line of at most LONGEST characters, with Markdown and HTML escaped."""
    line = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in " ".join(text.split()))
    cut = line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", html.escape(cut, quote=False))
