"""Comparing two models on the captions and features that a training has already computed."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import starmap
from operator import eq
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from torch import nn

from storage.artifacts import Artifact, folder_of
from storage.checksum import file_digest
from storage.errors import StorageError
from storage.models import ModelRef, sound_model
from storage.tables import read_table
from storage.workspace import Workspace
from tasks.captions.tfidf import tfidf
from tasks.captions.vocabulary import vocabulary_from
from tasks.evaluation.jackknife import estimate_aucs
from tasks.evaluation.rankings import rank_images
from tasks.evaluation.summary import Difference, paired_difference
from tasks.features.descriptors import load_descriptors, project
from tasks.metrics.truth import draw_queries
from tasks.model.config import features_file, load_config
from tasks.model.persistence import load
from tasks.model.scene_model import SceneModel


def compare_models(
    workspace: Workspace,
    collection: Artifact,
    features: Sequence[Artifact],
    split: str,
    model: ModelRef,
    over: ModelRef,
    seed: int,
) -> Difference | None:
    """Return the model's metrics minus the other's; None unless both learned from the same captions and features."""
    with suppress(StorageError):
        folders = [sound_model(workspace, each) for each in (model, over)]
        found = [folder_of(workspace, artifact) for artifact in features]
        if _are_comparable(found, *folders):
            models = [load(folder) for folder in folders]
            if all(starmap(have_equal_weights, zip(*(each.backbones for each in models), strict=False))):
                return _difference(workspace, collection, found, split, folders[0] / "vocabulary.parquet", models, seed)
    return None


def have_equal_weights(one: nn.Module, other: nn.Module) -> bool:
    """Return whether two networks of one architecture have the same weights, which may come from any file."""
    return all(map(torch.equal, one.state_dict().values(), other.state_dict().values()))


def _are_comparable(features: Sequence[Path], model: Path, over: Path) -> bool:
    """Whether both models learned from the same captions, and these features are those of their networks.

    One of them may have only the first networks of the other.
    """
    one, other = load_config(model), load_config(over)
    vocabularies = {file_digest(folder / "vocabulary.parquet") for folder in (model, over)}
    known = all(
        len(config.networks) <= len(features)
        and all((folder / features_file(config.pooling)).exists() for folder in features[: len(config.networks)])
        for config in (one, other)
    )
    return (
        len(vocabularies) == 1
        and known
        and not (one.finetuned or other.finetuned)
        and all(starmap(eq, zip(one.networks, other.networks, strict=False)))
    )


def _difference(
    workspace: Workspace,
    collection: Artifact,
    features: Sequence[Path],
    split: str,
    vocabulary: Path,
    models: Sequence[SceneModel],
    seed: int,
) -> Difference:
    captioned = folder_of(workspace, collection)
    captions = read_table(captioned / f"captions/{split}.parquet")["captions"].to_pylist()
    images = read_table(captioned / f"captioned/{split}.parquet")
    tfidf_NV = tfidf(captions, vocabulary_from(read_table(vocabulary)))
    query_Q, _ = draw_queries(tfidf_NV, seed=seed)
    embeddings = {
        name: _embed(features, images, each) for name, each in zip(("challenger", "champion"), models, strict=True)
    }
    rankings = rank_images(tfidf_NV, query_Q, embeddings, {}, seed=seed, references=False)
    return paired_difference(estimate_aucs(rankings, seed=seed), "challenger", "champion", "champion")


def _embed(features: Sequence[Path], images: pa.Table, model: SceneModel) -> np.ndarray:
    """Return embedding_ND of a split's images, rounded as embeddings are stored."""
    descriptors = load_descriptors(features, images["sha256"].to_pylist(), model.config.pooling, model.block_channels())
    embedding_ND: np.ndarray = project(model.head, descriptors).numpy()
    return embedding_ND.astype(np.float16).astype(np.float32)
