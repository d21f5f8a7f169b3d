"""All methods on one split: figures, pictures and example queries."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from storage.artifacts import Artifact
from storage.models import ModelRef
from storage.tables import matrix, read_table
from tasks.caching import StageRun
from tasks.captions.tfidf import tfidf
from tasks.captions.vocabulary import vocabulary_from
from tasks.errors import InputError
from tasks.evaluation.baselines import GAP, RMAC, baseline_embeddings
from tasks.evaluation.charts import curve_figure, scatter_figure
from tasks.evaluation.compare import compare, shown_methods
from tasks.evaluation.examples import Gallery, make_examples, make_steered_examples
from tasks.evaluation.inputs import EvaluationData
from tasks.evaluation.sheets import Example
from tasks.evaluation.steering import measure_words
from tasks.evaluation.summary import MethodSummary, best_of
from tasks.features.descriptors import Descriptors, load_descriptors
from tasks.images.decode import decode
from tasks.metrics.truth import Truth, make_truth
from tasks.model.architectures import ARCHITECTURES
from tasks.model.config import BackboneConfig, PoolingConfig
from tasks.model.text_model import TextModel, load_text
from tasks.search.modifiers import moved

EXAMPLES, STEERED_EXAMPLES = 6, 3


def evaluate(
    run: StageRun,
    data: EvaluationData,
    embeddings: Mapping[str, Artifact],
    models: Mapping[str, ModelRef],
    backbone: BackboneConfig,
    seed: int,
) -> None:
    """All methods on one split (METHOD.md 6) → evaluation.json, figures/, and sheets/ of example queries."""
    table = read_table(run.open(data.captions) / f"captions/{data.split}.parquet")
    captions = dict(zip(table["image_id"].to_pylist(), table["captions"].to_pylist(), strict=True))
    vocabulary = vocabulary_from(read_table(run.open(data.vocabulary) / "vocabulary.parquet"))
    tfidf_NV = tfidf(list(captions.values()), vocabulary)
    truth = make_truth(tfidf_NV, seed=seed)
    images = read_table(run.open(data.images) / f"captioned/{data.split}.parquet")
    visual = _baselines(run, data, backbone, seed)
    visual |= {method: _embeddings(run, artifact, images) for method, artifact in embeddings.items()}
    loaded = {method: load_text(run.workspace.root / model.path) for method, model in models.items()}
    texts = {method: text for method, text in loaded.items() if text is not None}
    asking = {}
    if joint := texts.get("vt_v"):
        visual["vt_vt"] = visual["vt_v"]
        asking["vt_vt"] = moved(visual["vt_v"], joint.embed_bags(list(captions.values())))
    methods = compare(truth, visual, asking, seed=seed)
    shown = {methods[name].label: visual[name] for name in shown_methods(methods)}
    gallery = _gallery(run, images, captions, tfidf_NV)
    examples = make_examples(gallery, truth.query_Q, shown, count=EXAMPLES, seed=seed)
    steered = _steered(gallery, truth, methods, visual, texts, seed)
    _write_pictures(
        run.folder / "figures",
        {
            "ndcg.png": curve_figure(methods, "ndcg"),
            "pcc.png": curve_figure(methods, "pcc"),
            "scatter.png": scatter_figure(
                truth.relevance_QM, {label: truth.scores(each_ND) for label, each_ND in shown.items()}, seed=seed
            ),
        },
    )
    for name, sheets in (("sheets", examples), ("steered", steered)):
        _write_pictures(run.folder / name, {f"{n}.jpg": example.sheet for n, example in enumerate(sheets)})
    copy_N = table["copy_group"].to_numpy()
    facts = {
        "split": data.split,
        "queries": len(truth.query_Q),
        "images": truth.relevance_QM.shape[1],
        "left_out": truth.without_stems + methods["captions"].ndcg_left_out,
        "copies": int((np.bincount(copy_N)[copy_N[truth.query_Q]] > 1).sum()),
        "methods": {name: summary.model_dump(mode="json") for name, summary in methods.items()},
        "words": _words(gallery, visual, texts, seed),
        "examples": [example.model_dump(mode="json") for example in examples],
        "steered": [example.model_dump(mode="json") for example in steered],
    }
    (run.folder / "evaluation.json").write_text(json.dumps(facts))


def _gallery(run: StageRun, images: pa.Table, captions: Mapping[str, Sequence[str]], tfidf_NV: csr_array) -> Gallery:
    path_of = dict(zip(images["image_id"].to_pylist(), images["path"].to_pylist(), strict=True))
    read = run.reader(images)
    return Gallery(captions, tfidf_NV, lambda image_id: decode(read(path_of[image_id])))


def _words(
    gallery: Gallery, visual: Mapping[str, np.ndarray], texts: Mapping[str, TextModel], seed: int
) -> dict[str, object]:
    """How words steer each model that knows any; nothing of a split where that cannot be measured."""
    held = {method: tfidf(list(gallery.captions.values()), text.vocabulary) for method, text in texts.items()}
    measured = {
        method: measure_words(visual[method], text.stem_VD, held[method], gallery.tfidf_NV, seed=seed)
        for method, text in texts.items()
    }
    return {method: figures.model_dump(mode="json") for method, figures in measured.items() if figures is not None}


def _steered(
    gallery: Gallery,
    truth: Truth,
    methods: Mapping[str, MethodSummary],
    visual: Mapping[str, np.ndarray],
    texts: Mapping[str, TextModel],
    seed: int,
) -> list[Example]:
    """Example queries of the best model that knows words."""
    best = best_of({method: methods[method] for method in texts}, "trained")
    if best is None:
        return []
    return make_steered_examples(gallery, truth.query_Q, visual[best], texts[best], count=STEERED_EXAMPLES, seed=seed)


def _baselines(run: StageRun, data: EvaluationData, backbone: BackboneConfig, seed: int) -> dict[str, np.ndarray]:
    channels = ARCHITECTURES[backbone.name].channels

    def descriptors(images: Artifact, split: str, features: Artifact, pooling: PoolingConfig) -> Descriptors:
        digests = read_table(run.open(images) / f"captioned/{split}.parquet", ["sha256"])["sha256"].to_pylist()
        return load_descriptors(run.open(features), digests, pooling, channels)

    train = (data.train_images, "train", data.train_features)
    split = (data.images, data.split, data.features)
    return baseline_embeddings(
        descriptors(*train, GAP),
        descriptors(*train, RMAC),
        descriptors(*split, GAP),
        descriptors(*split, RMAC),
        seed=seed,
    )


def _embeddings(run: StageRun, embedding: Artifact, images: pa.Table) -> np.ndarray:
    """embedding_ND, float32, of the images in id order."""
    table = read_table(run.open(embedding) / "embeddings.parquet")
    row_of = {sha256: row for row, sha256 in enumerate(table["sha256"].to_pylist())}
    absent = [image["path"] for image in images.to_pylist() if image["sha256"] not in row_of]
    if absent:
        raise InputError(f"{absent[0]} cannot be used any more; run again.")
    rows = [row_of[sha256] for sha256 in images["sha256"].to_pylist()]
    return matrix(table["embedding"]).astype(np.float32)[rows]


def _write_pictures(folder: Path, pictures: Mapping[str, bytes]) -> None:
    folder.mkdir()
    for name, data in pictures.items():
        (folder / name).write_bytes(data)
