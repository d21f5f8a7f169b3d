"""Saving a model folder. Apart from loading, so that the code that reads captions is not part of what embeds images."""

from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq
from safetensors.torch import save as to_bytes
from torch import Tensor

from tasks.captions.vocabulary import Vocabulary, vocabulary_table
from tasks.model.config import CONFIG
from tasks.model.persistence import VOCABULARY, WEIGHTS
from tasks.model.scene_model import SceneModel


def save(model: SceneModel, vocabulary: Vocabulary, folder: Path) -> None:
    """Write the model's files into an existing folder."""
    (folder / CONFIG).write_text(model.config.model_dump_json(indent=1), encoding="utf-8")
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    write_tensors(tensors, folder / WEIGHTS)
    pq.write_table(vocabulary_table(vocabulary), folder / VOCABULARY)


def write_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Write a .safetensors file. Raises OSError if the disk is full; safetensors has an error of its own."""
    path.write_bytes(to_bytes(dict(tensors)))
