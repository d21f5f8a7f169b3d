"""All methods on one split: figures, pictures and example queries."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from storage.artifacts import Artifact
from storage.tables import matrix, read_table
from tasks.caching import StageRun
from tasks.captions.tfidf import tfidf
from tasks.captions.vocabulary import vocabulary_from
from tasks.errors import InputError
from tasks.evaluation.baselines import GAP, RMAC, baseline_embeddings
from tasks.evaluation.compare import compare, make_examples, shown_methods
from tasks.evaluation.figures import curve_figure, scatter_figure
from tasks.evaluation.inputs import EvaluationData
from tasks.features.descriptors import Descriptors, load_descriptors
from tasks.images.decode import decode
from tasks.metrics.truth import make_truth
from tasks.model.backbones import ARCHITECTURES
from tasks.model.config import BackboneConfig, PoolingConfig

EXAMPLES = 6


def evaluate(
    run: StageRun,
    data: EvaluationData,
    embeddings: Mapping[str, Artifact],
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
    methods = compare(truth, visual, seed=seed)
    shown = {methods[name].label: visual[name] for name in shown_methods(methods)}
    path_of = dict(zip(images["image_id"].to_pylist(), images["path"].to_pylist(), strict=True))
    read = run.reader(images)
    examples = make_examples(
        truth,
        tfidf_NV,
        captions,
        shown,
        lambda image_id: decode(read(path_of[image_id])),
        count=EXAMPLES,
        seed=seed,
    )
    scores = {label: truth.scores(embedding_ND) for label, embedding_ND in shown.items()}
    _write_pictures(
        run.folder / "figures",
        {
            "ndcg.png": curve_figure(methods, "ndcg"),
            "pcc.png": curve_figure(methods, "pcc"),
            "scatter.png": scatter_figure(truth.relevance_QM, scores, seed=seed),
        },
    )
    _write_pictures(run.folder / "sheets", {f"{n}.jpg": example.sheet for n, example in enumerate(examples)})
    copy_N = table["copy_group"].to_numpy()
    facts = {
        "split": data.split,
        "queries": len(truth.query_Q),
        "images": truth.relevance_QM.shape[1],
        "left_out": truth.without_stems + methods["captions"].ndcg_left_out,
        "copies": int((np.bincount(copy_N)[copy_N[truth.query_Q]] > 1).sum()),
        "methods": {name: summary.model_dump(mode="json") for name, summary in methods.items()},
        "examples": [example.model_dump(mode="json") for example in examples],
    }
    (run.folder / "evaluation.json").write_text(json.dumps(facts))


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
