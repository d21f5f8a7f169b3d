"""Steps shared by flows: prepare a collection, evaluate candidates on a split and write the report."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from flows.config import Config
from storage.artifacts import Artifact, narrow
from storage.models import ModelRef
from storage.workspace import Workspace
from tasks.caching import Runner
from tasks.captions.task import build_vocabulary, require_shared_words
from tasks.collection.task import digest_collection, read_collection, require_captions
from tasks.embedding.task import embed_features, embed_images
from tasks.evaluation.inputs import EvaluationData
from tasks.evaluation.task import Evaluation, evaluate, read_evaluation, write_report
from tasks.features.config import FeaturesConfig
from tasks.features.task import extract_features, features_of, weights_digest
from tasks.model.config import NetworkConfig, PoolingConfig, features_file
from tasks.training.config import BASELINE_POOLINGS


@dataclass(frozen=True)
class Prepared:
    """A collection, its vocabulary, and the features of two splits.

    Vocabulary and baselines are fitted on the split `reference`: train, if the collection has one.
    """

    collection: Artifact
    vocabulary: Artifact
    split: str
    reference: str
    described: tuple[FeaturesConfig, ...]
    features: Mapping[str, tuple[Artifact, ...]]  # of each network
    workspace: Workspace

    @property
    def networks(self) -> tuple[NetworkConfig, ...]:
        """The networks that the features are of."""
        return tuple(config.network for config in self.described)

    def beside(self, other: "Prepared") -> "Prepared":
        """Add the features of another's networks."""
        features = {part: (*self.features[part], *other.features[part]) for part in self.features}
        return replace(self, described=(*self.described, *other.described), features=features)

    def pooled(self, split: str, *poolings: PoolingConfig) -> tuple[Artifact, ...]:
        """Narrow the features of a split to these poolings and the networks that they join."""
        return tuple(
            narrow(self.workspace, artifact, *map(features_file, joined))
            for artifact, config in zip(self.features[split], self.described, strict=True)
            if (joined := [pooling for pooling in poolings if pooling in config.poolings])
        )


def read(run: Runner, format: str | None, config: Config) -> Artifact:
    """Read the collection, keyed by the content of its files."""
    return run(read_collection, digest_collection(run.workspace, run.source), format, config.collection)


def prepare(run: Runner, collection: Artifact, split: str, config: Config, reference: str = "train") -> Prepared:
    """Compute everything that training and evaluation on a split need. Raises InputError if captions are missing."""
    require_captions(run.workspace, collection, split, train=reference == "train")
    captions = narrow(run.workspace, collection, f"captions/{reference}.parquet")
    vocabulary = run(build_vocabulary, captions, config.captions, reference)
    require_shared_words(run.workspace, vocabulary)
    described = features_of(config.backbone, config.all_poolings(), beside=config.fine_tuned_backbones())
    features = {part: extract(run, collection, part, described) for part in dict.fromkeys((reference, split))}
    return Prepared(collection, vocabulary, split, reference, described, features, run.workspace)


def extract(
    run: Runner, collection: Artifact, part: str, described: tuple[FeaturesConfig, ...]
) -> tuple[Artifact, ...]:
    """Compute the features of each network on the captioned images of a split."""
    images = narrow(run.workspace, collection, f"captioned/{part}.parquet")
    return tuple(
        run(extract_features, images, part, config, weights_digest(config.network.backbone)) for config in described
    )


def report_on(
    run: Runner,
    prepared: Prepared,
    models: Mapping[str, ModelRef],
    title: str,
    name: str,
    notes: tuple[str, ...],
    config: Config,
    *,
    evaluated: str | None = None,
    mixed: bool = False,
) -> tuple[Evaluation, Artifact]:
    """Evaluate models and baselines on the prepared split, and write the report.

    `evaluated` is the method that the report is about; without it, that is the best. With `mixed`, models with a frozen
    backbone also search the split together with the training images.
    """
    split, reference, space = prepared.split, prepared.reference, run.workspace
    images, reference_images = (
        narrow(space, prepared.collection, f"captioned/{part}.parquet") for part in (split, reference)
    )
    embeddings = {
        method: run(embed_images, images, f"captioned/{split}.parquet", model)
        if method in config.finetuned()
        else run(embed_features, images, split, prepared.pooled(split, *config.poolings(method)), model)
        for method, model in models.items()
    }
    train_embeddings = {
        method: run(
            embed_features, reference_images, "train", prepared.pooled("train", *config.poolings(method)), model
        )
        for method, model in models.items()
        if mixed and reference == "train" and method not in config.finetuned()
    }
    data = EvaluationData(
        split=split,
        vocabulary=narrow(space, prepared.vocabulary, "vocabulary.parquet"),
        reference=reference,
        reference_images=reference_images,
        reference_features=prepared.pooled(reference, *BASELINE_POOLINGS),
        reference_captions=narrow(space, prepared.collection, f"captions/{reference}.parquet"),
        train_embeddings=train_embeddings,
        images=images,
        features=prepared.pooled(split, *BASELINE_POOLINGS),
        captions=narrow(space, prepared.collection, f"captions/{split}.parquet"),
    )
    evaluation = run(evaluate, data, embeddings, models, config.backbone, config.seed, evaluated)
    summary = narrow(space, prepared.collection, "summary.json")
    report = run(write_report, evaluation, summary, title, run.source.name, name, notes, config.result_settings())
    return read_evaluation(space, evaluation), report
