"""Loading a model folder: config.json, model.safetensors and vocabulary.parquet."""

from pathlib import Path

import torch
from safetensors.torch import load_file

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
        backbone = create_backbone(config.backbone, pretrained=False)
        model = SceneModel(config, backbone, _empty_head(config))
        if isinstance(model.head, Kernel):  # models of earlier versions lack them
            tensors.setdefault("head.unseen_length_M", model.head.unseen_length_M)
            tensors.setdefault("head.unseen_scale_T", model.head.unseen_scale_T)
        model.load_state_dict(tensors)
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
    backbone = fold_batch_norm(model.backbone) if model.backbone.sequential else model.backbone
    return SceneModel(model.config, backbone, model.head).eval()


def _empty_head(config: ModelConfig) -> Head:
    channels, dimension, landmarks = config.channels, config.dimension, config.landmarks
    if landmarks:
        return Kernel(torch.zeros(channels), torch.zeros(landmarks, channels), torch.zeros(landmarks, dimension - 1))
    if config.scaled:
        return Scaling(torch.zeros(channels), torch.zeros(channels))
    return Projection(torch.zeros(channels), torch.zeros(channels, dimension))
