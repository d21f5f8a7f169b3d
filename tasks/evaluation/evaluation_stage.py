"""The work of the evaluation stage: metrics, charts and example queries of all methods on one split."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from storage.artifacts import Artifact
from storage.models import ModelRef
from storage.tables import matrix, read_table
from tasks.caching import StageRun
from tasks.captions.tfidf import tfidf
from tasks.captions.vocabulary import Vocabulary, vocabulary_from
from tasks.errors import InputError
from tasks.evaluation.baselines import baseline_embeddings
from tasks.evaluation.charts import curve_chart, scatter_chart
from tasks.evaluation.embeddings import Embeddings
from tasks.evaluation.examples import Gallery, make_examples, make_steered_examples
from tasks.evaluation.inputs import EvaluationData
from tasks.evaluation.mixed import MixedMetrics, measure_mixed, measure_mixed_words
from tasks.evaluation.rankings import rank_images, relevance_blocks
from tasks.evaluation.sheets import Example
from tasks.evaluation.steering import WordMetrics, measure_words
from tasks.evaluation.summary import MethodSummary, best_methods, best_of, summarise
from tasks.features.descriptors import load_descriptors
from tasks.images.decode import decode
from tasks.metrics.ranked import drop_self
from tasks.metrics.truth import draw_queries
from tasks.model.architectures import block_channels
from tasks.model.config import BackboneConfig
from tasks.model.text_model import TextModel, load_text
from tasks.search.modifiers import steer_queries
from tasks.training.config import BLOCKS
from tasks.training.untrained import Features

EXAMPLES, STEERED_EXAMPLES = 6, 3


def evaluate(
    run: StageRun,
    data: EvaluationData,
    embeddings: Mapping[str, Artifact],
    models: Mapping[str, ModelRef],
    backbones: tuple[BackboneConfig, ...],
    seed: int,
    evaluated: str | None,
) -> None:
    """Measure all methods → evaluation.json, charts/, and sheets/ and steered/ with pictures of example queries."""
    table = read_table(run.open(data.captions) / f"captions/{data.split}.parquet")
    captions = dict(zip(table["image_id"].to_pylist(), table["captions"].to_pylist(), strict=True))
    vocabulary = vocabulary_from(read_table(run.open(data.vocabulary) / "vocabulary.parquet"))
    tfidf_NV = tfidf(list(captions.values()), vocabulary)
    query_Q, without_stems = draw_queries(tfidf_NV, seed=seed)
    images = read_table(run.open(data.images) / f"captioned/{data.split}.parquet")
    texts = _text_models(run, models)
    loaders = _baselines(run, data, backbones, seed)
    loaders |= {method: partial(_embeddings, run, artifact, images) for method, artifact in embeddings.items()}
    visual, queries = _with_joint_queries(loaders, texts.get("vt_v"), list(captions.values()))
    rankings = rank_images(tfidf_NV, query_Q, visual, queries, seed=seed)
    methods = summarise(rankings, seed=seed)
    best = {methods[name].label: visual[name] for name in best_methods(methods, evaluated)}
    gallery = _gallery(run, images, captions, tfidf_NV)
    examples = make_examples(gallery, query_Q, best, count=EXAMPLES, seed=seed)
    steered = _steered(gallery, query_Q, methods, visual, texts, evaluated, seed)
    rows, relevance_BM, _ = next(relevance_blocks(tfidf_NV, query_Q))  # as many pairs as a chart can show
    scores = {label: drop_self(each_ND[rows] @ each_ND.T, rows) for label, each_ND in best.items()}
    charts = {
        "ndcg.png": curve_chart(methods, "ndcg"),
        "pcc.png": curve_chart(methods, "pcc"),
        "scatter.png": scatter_chart(relevance_BM, scores, seed=seed),
    }
    _write_pictures(run.folder / "charts", charts)
    for name, shown in (("sheets", examples), ("steered", steered)):
        _write_pictures(run.folder / name, {f"{number}.jpg": example.sheet for number, example in enumerate(shown)})
    copy_N = table["copy_group"].to_numpy()
    foreign = _is_foreign(run, models, vocabulary)  # then no model has seen this collection's train split
    mixed = {} if foreign else _mixed(run, data, gallery, query_Q, visual, texts, vocabulary, seed)
    content = {
        "split": data.split,
        "queries": len(query_Q),
        "images": rankings.ranked,
        "left_out": without_stems + methods["captions"].ndcg_left_out,
        "reference": data.reference,
        "foreign": foreign,
        "evaluated": evaluated,
        "cut_ranks": rankings.cut_ranks,
        "copies": int((np.bincount(copy_N)[copy_N[query_Q]] > 1).sum()),
        "methods": {name: summary.model_dump(mode="json") for name, summary in methods.items()},
        "words": {name: words.model_dump(mode="json") for name, words in _words(gallery, visual, texts, seed).items()},
        "mixed": {name: metrics.model_dump(mode="json") for name, metrics in mixed.items()},
        "examples": [example.model_dump(mode="json") for example in examples],
        "steered": [example.model_dump(mode="json") for example in steered],
    }
    (run.folder / "evaluation.json").write_text(json.dumps(content), encoding="utf-8")


def _with_joint_queries(
    loaders: Mapping[str, Callable[[], np.ndarray]], joint: TextModel | None, captions: Sequence[Sequence[str]]
) -> tuple[Embeddings, Embeddings]:
    """Return the embeddings of all methods, and those of queries that differ: images with their captions, (V+T,V+T)."""
    if joint is None:
        return Embeddings(loaders), Embeddings({})
    visual = Embeddings({**loaders, "vt_vt": loaders["vt_v"]})
    return visual, Embeddings({"vt_vt": lambda: steer_queries(visual["vt_v"], joint.embed_bags(captions))})


def _text_models(run: StageRun, models: Mapping[str, ModelRef]) -> dict[str, TextModel]:
    """Load the text embedding of each model that has one."""
    loaded = {method: load_text(run.workspace.root / model.path) for method, model in models.items()}
    return {method: text for method, text in loaded.items() if text is not None}


def _is_foreign(run: StageRun, models: Mapping[str, ModelRef], vocabulary: Vocabulary) -> bool:
    """Return whether the models learned from other captions than those that the vocabulary was built from."""
    files = [run.workspace.root / model.path / "vocabulary.parquet" for model in models.values()]
    learned = [vocabulary_from(read_table(file)) for file in files]
    return any((each.stems, each.documents) != (vocabulary.stems, vocabulary.documents) for each in learned)


def _gallery(run: StageRun, images: pa.Table, captions: Mapping[str, Sequence[str]], tfidf_NV: csr_array) -> Gallery:
    path_of = dict(zip(images["image_id"].to_pylist(), images["path"].to_pylist(), strict=True))
    read = run.reader(images)
    return Gallery(captions, tfidf_NV, lambda image_id: decode(read(path_of[image_id])))


def _words(
    gallery: Gallery, visual: Mapping[str, np.ndarray], texts: Mapping[str, TextModel], seed: int
) -> dict[str, WordMetrics]:
    """Measure how words steer each model with a text embedding, where the split allows it."""
    captions = list(gallery.captions.values())
    measured = {
        method: measure_words(
            visual[method], text.stem_VD, tfidf(captions, text.vocabulary), gallery.tfidf_NV, seed=seed
        )
        for method, text in texts.items()
    }
    return {method: words for method, words in measured.items() if words is not None}


def _mixed(
    run: StageRun,
    data: EvaluationData,
    gallery: Gallery,
    query_Q: np.ndarray,
    visual: Mapping[str, np.ndarray],
    texts: Mapping[str, TextModel],
    vocabulary: Vocabulary,
    seed: int,
) -> dict[str, MixedMetrics]:
    """Search the split's and the training images together, by the methods whose embeddings of both are given."""
    if not data.train_embeddings:
        return {}
    images = read_table(run.open(data.reference_images) / "captioned/train.parquet")
    captions = read_table(run.open(data.reference_captions) / "captions/train.parquet")["captions"].to_pylist()
    train_tfidf_TV, own_captions = tfidf(captions, vocabulary), list(gallery.captions.values())
    found = {}
    for method, artifact in data.train_embeddings.items():
        train_TD = _embeddings(run, artifact, images)
        mixed = measure_mixed(visual[method], train_TD, gallery.tfidf_NV, train_tfidf_TV, query_Q, seed=seed)
        if text := texts.get(method):
            model_tfidf_NV = tfidf(own_captions, text.vocabulary)
            words = measure_mixed_words(visual[method], train_TD, text.stem_VD, model_tfidf_NV, seed=seed)
            mixed = mixed.model_copy(update=words)
        found[method] = mixed
    return found


def _steered(
    gallery: Gallery,
    query_Q: np.ndarray,
    methods: Mapping[str, MethodSummary],
    visual: Mapping[str, np.ndarray],
    texts: Mapping[str, TextModel],
    evaluated: str | None,
    seed: int,
) -> list[Example]:
    """Make example queries with words for the evaluated model, or for the best one that has a text embedding."""
    shown = {evaluated} if evaluated in texts else texts.keys()
    best = best_of({method: methods[method] for method in texts if method in shown}, "trained")
    if best is None:
        return []
    return make_steered_examples(gallery, query_Q, visual[best], texts[best], count=STEERED_EXAMPLES, seed=seed)


def _baselines(
    run: StageRun, data: EvaluationData, backbones: tuple[BackboneConfig, ...], seed: int
) -> dict[str, Callable[[], np.ndarray]]:
    def features(images: Artifact, split: str, artifacts: Sequence[Artifact]) -> Features:
        digests = read_table(run.open(images) / f"captioned/{split}.parquet", ["sha256"])["sha256"].to_pylist()
        folders = [run.open(artifact) for artifact in artifacts]
        return lambda pooling: load_descriptors(folders, digests, pooling, block_channels(backbones, pooling))

    return baseline_embeddings(
        features(data.reference_images, data.reference, data.reference_features),
        features(data.images, data.split, data.features),
        [*chain(*block_channels(backbones, BLOCKS))],
        seed=seed,
    )


def _embeddings(run: StageRun, embedding: Artifact, images: pa.Table) -> np.ndarray:
    """Read embedding_ND, float32, of the images in id order. Raises InputError if an image has none."""
    table = read_table(run.open(embedding) / "embeddings.parquet")
    row_of = {sha256: row for row, sha256 in enumerate(table["sha256"].to_pylist())}
    missing = [image["path"] for image in images.to_pylist() if image["sha256"] not in row_of]
    if missing:
        raise InputError(f"{missing[0]} became unreadable during the run; run the command again.")
    rows = [row_of[sha256] for sha256 in images["sha256"].to_pylist()]
    return matrix(table["embedding"]).astype(np.float32)[rows]


def _write_pictures(folder: Path, pictures: Mapping[str, bytes]) -> None:
    folder.mkdir()
    for name, data in pictures.items():
        (folder / name).write_bytes(data)
