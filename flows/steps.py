"""Steps shared by flows: prepare a collection, evaluate candidates on a split and write the report."""

from collections.abc import Mapping
from dataclasses import dataclass

from flows.config import Config
from storage.artifacts import Artifact, narrow
from storage.models import ModelRef
from storage.workspace import Workspace
from tasks.caching import Runner
from tasks.captions.task import build_vocabulary
from tasks.collection.task import digest_collection, read_collection, require_captions
from tasks.embedding.task import embed_features, embed_images
from tasks.evaluation.config import BASELINE_POOLINGS
from tasks.evaluation.inputs import EvaluationData
from tasks.evaluation.task import Evaluation, evaluate, read_evaluation, write_report
from tasks.features.task import extract_features, weights_digest
from tasks.model.config import PoolingConfig, features_file


@dataclass(frozen=True)
class Prepared:
    """A collection, the vocabulary of its train captions, and the features of train and another split."""

    collection: Artifact
    vocabulary: Artifact
    split: str
    features: Mapping[str, Artifact]
    workspace: Workspace

    def pooled(self, split: str, *poolings: PoolingConfig) -> Artifact:
        """Narrow the features of a split to these poolings."""
        return narrow(self.workspace, self.features[split], *map(features_file, poolings))


def read(run: Runner, format: str | None, config: Config) -> Artifact:
    """Read the collection, keyed by the content of its files."""
    return run(read_collection, digest_collection(run.workspace, run.source), format, config.collection)


def prepare(run: Runner, collection: Artifact, split: str, config: Config) -> Prepared:
    """Compute everything that training and evaluation on a split need."""
    require_captions(run.workspace, collection, split)
    captions = narrow(run.workspace, collection, "captions/train.parquet")
    vocabulary = run(build_vocabulary, captions, config.captions)
    weights = weights_digest(config.backbone)
    features = {
        part: run(
            extract_features,
            narrow(run.workspace, collection, f"captioned/{part}.parquet"),
            part,
            config.features(),
            weights,
        )
        for part in ("train", split)
    }
    return Prepared(collection, vocabulary, split, features, run.workspace)


def report_on(
    run: Runner,
    prepared: Prepared,
    models: Mapping[str, ModelRef],
    title: str,
    name: str,
    notes: tuple[str, ...],
    config: Config,
) -> tuple[Evaluation, Artifact]:
    """Evaluate models and baselines on the prepared split, and write the report."""
    split, space = prepared.split, run.workspace
    images = narrow(space, prepared.collection, f"captioned/{split}.parquet")
    embeddings = {
        method: run(embed_images, images, f"captioned/{split}.parquet", model)
        if method in config.finetuned()
        else run(embed_features, images, split, prepared.pooled(split, config.pooling(method)), model)
        for method, model in models.items()
    }
    data = EvaluationData(
        split=split,
        vocabulary=narrow(space, prepared.vocabulary, "vocabulary.parquet"),
        train_images=narrow(space, prepared.collection, "captioned/train.parquet"),
        train_features=prepared.pooled("train", *BASELINE_POOLINGS),
        images=images,
        features=prepared.pooled(split, *BASELINE_POOLINGS),
        captions=narrow(space, prepared.collection, f"captions/{split}.parquet"),
    )
    evaluation = run(evaluate, data, embeddings, models, config.backbone, config.seed)
    summary = narrow(space, prepared.collection, "summary.json")
    report = run(write_report, evaluation, summary, title, run.source.name, name, notes, config.answers())
    return read_evaluation(space, evaluation), report
