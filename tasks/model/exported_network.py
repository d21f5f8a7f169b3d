"""A network of the user's own, from a file that `torch.export` saved."""

import io
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from torch import Tensor, nn
from torch.export.passes import move_to_device_pass

from tasks.errors import InputError
from tasks.images.config import Interpolation
from tasks.invalid import clauses
from tasks.model.backbone import Architecture, Backbone, Outputs, Weights
from tasks.model.convnets import IMAGENET

DESCRIPTION = "preprocessing.json"
USUAL = 224  # pixels, for a program that accepts images of any size and does not name one


class InputDescription(BaseModel):
    """What the file `preprocessing.json` in an exported program may contain; the defaults are those of ImageNet."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int | None = Field(default=None, ge=32)
    mean: tuple[float, float, float] = IMAGENET["mean"]
    std: tuple[float, float, float] = IMAGENET["std"]
    interpolation: Interpolation = "bicubic"
    licence: str = ""


class ExportedNetwork(Backbone):
    """An exported program as a frozen backbone.

    Its only tensor is the file, so that a model's weights contain the program. The program is unpacked when it is first
    used, on the device of the images.
    """

    file: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("file", torch.empty(0, dtype=torch.uint8))
        self._device: torch.device | None = None
        self._run: Callable[[Tensor], Any]

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        if f"{prefix}file" in state_dict:  # of any length, which load_state_dict would refuse
            self.file, self._device = state_dict[f"{prefix}file"], None
        super()._load_from_state_dict(state_dict, prefix, *args)

    def single_pass(self, images_BCHW: Tensor) -> Outputs:
        """Compute the outputs of one forward pass. Raises InputError if the program returns something else."""
        if self._device != images_BCHW.device:
            program, _ = _load(self.file.cpu().numpy().tobytes())
            self._device = images_BCHW.device
            self._run = move_to_device_pass(program, self._device).module().__call__
        return _outputs(self._run(images_BCHW))

    def stages(self) -> Sequence[nn.Module]:
        """Return nothing: a program is not trained further."""
        return []

    def classify(self, map_BCHW: Tensor) -> None:
        """Return None: how class scores follow from the map is part of the program."""


def build_exported(weights: Weights | None) -> ExportedNetwork:
    """Build the network of a program, or an empty one that a model's weights are loaded into."""
    network = ExportedNetwork()
    if weights is not None:
        network.load_state_dict(weights)
    return network


def read_program(path: Path) -> Weights:
    """Read an exported program as the tensor of an ExportedNetwork."""
    return {"file": torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8)}


@cache
def exported_architecture(path: Path, size: int | None) -> Architecture:
    """Return the architecture of an exported program. Raises InputError if it cannot be a backbone."""
    try:
        program, description = _load(path.read_bytes())
        described = _description(description)
        height = _input_height(program)
        if height is not None and size not in {None, height}:
            raise InputError(f"it accepts images of {height} pixels only; leave out backbone.size.")
        own = height or described.size or USUAL
        with torch.no_grad():
            map_BCHW = build_exported(read_program(path)).outputs(torch.zeros(2, 3, own, own)).map_BCHW
    except InputError as error:
        raise InputError(f"{path} cannot be used: {error}") from error
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.") from error
    except Exception as error:  # of any kind: a program may do anything
        raise InputError(f"{path} cannot be used: it fails with {type(error).__name__}.") from error
    return Architecture(
        build_exported,
        size=own,
        licence=described.licence,
        mean=described.mean,
        std=described.std,
        stride=own // map_BCHW.shape[2],
        square=height is not None,
        interpolation=described.interpolation,
    )


def _load(data: bytes) -> tuple[torch.export.ExportedProgram, str]:
    """Load a program and the text of its DESCRIPTION, which may be empty."""
    files = {DESCRIPTION: ""}
    try:
        return torch.export.load(io.BytesIO(data), extra_files=files), files[DESCRIPTION]
    except Exception as error:  # of any kind: a file may contain anything
        raise InputError(f"it was not saved by torch.export ({type(error).__name__}).") from error


def _description(text: str) -> InputDescription:
    try:
        return InputDescription.model_validate(json.loads(text or "{}"))
    except ValidationError as error:
        raise InputError(f"in its {DESCRIPTION}, {'; '.join(clauses(error.errors()))}.") from error
    except ValueError as error:
        raise InputError(f"its {DESCRIPTION} is not JSON ({error}).") from error


def _input_height(program: torch.export.ExportedProgram) -> int | None:
    """Return the side of the squares that a program accepts, None if it accepts images of any shape."""
    first = next(iter(program.graph_signature.user_inputs), None)
    shape: Sequence[Any] = next((node.meta["val"].shape for node in program.graph.nodes if node.name == first), ())
    if len(shape) != 4 or shape[1] != 3:
        raise InputError("it must take images of shape (B, 3, H, W).")
    if isinstance(shape[0], int):
        raise InputError(f"it accepts batches of {shape[0]} only; export it with a dynamic first dimension.")
    sides = {side for side in shape[2:] if isinstance(side, int)}
    if not sides:
        return None
    if len(sides) == 1 and shape[2] == shape[3]:
        return int(shape[2])
    raise InputError("it accepts images of one shape that is no square; export it for squares or with dynamic sides.")


def _outputs(computed: Any) -> Outputs:
    """Read what a program returned."""
    named = computed if isinstance(computed, Mapping) else {"map": computed}
    map_BCHW, inner = named.get("map"), named.get("inner", ())
    if not isinstance(map_BCHW, Tensor) or map_BCHW.ndim != 4:
        raise InputError("it must return a feature map of shape (B, C, H, W), or a dictionary with one named map.")
    inner_BCHW = (inner,) if isinstance(inner, Tensor) else tuple(inner)
    return Outputs(map_BCHW, inner_BCHW, named.get("logits"), named.get("embedding"))
