"""Loading a model folder: config.json, model.safetensors and vocabulary.parquet."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from tasks.errors import InputError
from tasks.model.architectures import create_backbone
from tasks.model.config import ModelConfig, load_config
from tasks.model.head import Head, Kernel, Projection, Scaling
from tasks.model.inference import fold_batch_norm
from tasks.model.scene_model import SceneModel

WEIGHTS, VOCABULARY = "model.safetensors", "vocabulary.parquet"


def load(folder: Path, device: torch.device | str = "cpu") -> SceneModel:
    """Load the model of a folder, in evaluation mode. Raises InputError if a file is missing or damaged."""
    try:
        config = load_config(folder)
        tensors = load_file(folder / WEIGHTS)
        backbones = [create_backbone(network.backbone, pretrained=False) for network in config.networks]
        model = SceneModel(config, backbones, _empty_head(config))
        model.load_state_dict(_with_current_names(tensors, model.head))
    except Exception as error:
        raise InputError(
            f"The model in {folder} cannot be loaded ({type(error).__name__}); "
            "train it again and index with the new version, the challenger."
        ) from error
    return model.eval().to(device)


def load_for_queries(folder: Path) -> SceneModel:
    """Load a model with its batch norms folded where possible: a third faster for single images, equal up to rounding.

    Raises InputError like `load`.
    """
    model = load(folder)
    backbones = [fold_batch_norm(backbone) if backbone.sequential else backbone for backbone in model.backbones]
    return SceneModel(model.config, backbones, model.head).eval()


def _with_current_names(tensors: Mapping[str, Tensor], head: Head) -> dict[str, Tensor]:
    """Return the tensors of a model of this or an earlier version, which had one network and fewer in its head."""
    named = {
        f"backbones.0.{rest}" if top == "backbone" else f"{top}.{rest}": tensor
        for (top, _, rest), tensor in ((name.partition("."), tensor) for name, tensor in tensors.items())
    }
    if isinstance(head, Kernel):
        named.setdefault("head.unseen_length_M", head.unseen_length_M)
        named.setdefault("head.unseen_scale_T", head.unseen_scale_T)
    return named


def _empty_head(config: ModelConfig) -> Head:
    channels, dimension, landmarks = config.channels, config.dimension, config.landmarks
    if landmarks:
        return Kernel(torch.zeros(channels), torch.zeros(landmarks, channels), torch.zeros(landmarks, dimension - 1))
    if config.scaled:
        return Scaling(torch.zeros(channels), torch.zeros(channels))
    return Projection(torch.zeros(channels), torch.zeros(channels, dimension))
