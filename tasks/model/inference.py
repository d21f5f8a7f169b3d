"""Faster inference: batch norms folded into convolutions, OpenVINO on CPUs."""

import copy
import sys
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from tasks.errors import InputError
from tasks.model.backbone import Backbone, Outputs

Network = TypeVar("Network", bound=nn.Module)


def fold_batch_norm(network: Network) -> Network:
    """Return a copy in evaluation mode, equal up to rounding, with every batch norm folded into its convolution.

    The network must define its layers in the order in which it runs them.
    """
    folded = copy.deepcopy(network).eval()
    for module in list(folded.modules()):
        for (name, layer), (next_name, norm) in pairwise(list(module.named_children())):
            if isinstance(layer, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                setattr(module, name, fuse_conv_bn_eval(layer, norm))
                setattr(module, next_name, getattr(norm, "act", nn.Identity()))  # timm's norms contain the activation
    return folded.to(memory_format=torch.channels_last)


def optimise_for_inference(backbone: Backbone, device: torch.device) -> Backbone:
    """Return a network for inference, equal up to rounding: a copy with batch norms folded, channels last.

    A network that is not sequential is used unchanged. On a CPU with the extra `openvino`, OpenVINO runs the copy if it
    computes in float32, whatever the number of images, so that an image's vector does not depend on how many others are
    new (METHOD.md 3). Preparing it takes a second. Compared with torch on two cores at 224 pixels
    (`benchmarks/acceleration.py`), it was 1.3 times as fast for
    EfficientNet-Lite0 and 1.0 to 1.1 times for ResNet-101 on an idle machine, 3 and 2.5 times on a busy one. Raises
    InputError if OpenVINO fails.
    """
    if not backbone.sequential:
        return backbone.to(device)
    folded = fold_batch_norm(backbone).to(device)
    if device.type != "cpu" or backbone.precision != "float32" or find_spec("openvino") is None:
        return folded
    try:
        return _Compiled(folded)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"OpenVINO cannot run this network ({type(error).__name__}: {reason}); "
            "uninstall openvino to use torch instead."
        ) from error


class _Compiled(Backbone):
    """A network compiled by OpenVINO, once for all input shapes."""

    def __init__(self, network: Backbone) -> None:
        super().__init__()
        self.mirror = network.mirror
        self._stages, self._classify = network.stages, network.classify  # stay in torch, for their gradients
        openvino = _openvino()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # export takes minutes for dynamic shapes
            traced = torch.jit.trace(_TupleOutputs(network), torch.zeros(2, 3, 64, 96), check_trace=False)
        converted = openvino.convert_model(traced, input=[-1, 3, -1, -1])
        settings = {
            "INFERENCE_PRECISION_HINT": "f32",  # not bfloat16 on CPUs that support it
            "INFERENCE_NUM_THREADS": torch.get_num_threads(),
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,  # pinned threads wait for other programs on their core
        }
        self.compiled = openvino.Core().compile_model(converted, "CPU", settings)

    def single_pass(self, images_BCHW: Tensor) -> Outputs:
        results = self.compiled([images_BCHW.contiguous().numpy()], share_inputs=True)
        map_BCHW, *inner_BCHW, logit_BK = (torch.from_numpy(array) for array in results.values())
        return Outputs(map_BCHW, tuple(inner_BCHW), logit_BK)

    def stages(self) -> Sequence[nn.Module]:
        return self._stages()

    def classify(self, map_BCHW: Tensor) -> Tensor | None:
        return self._classify(map_BCHW)


class _TupleOutputs(nn.Module):
    """A network whose forward pass returns all outputs as a tuple of tensors, as tracing requires."""

    def __init__(self, network: Backbone) -> None:
        super().__init__()
        self.network = network

    def forward(self, images_BCHW: Tensor) -> tuple[Tensor, ...]:
        outputs = self.network.single_pass(images_BCHW)
        assert outputs.logit_BK is not None  # sequential networks have classes
        return (outputs.map_BCHW, *outputs.inner_BCHW, outputs.logit_BK)


def _openvino() -> Any:
    """Import openvino without openvino-telemetry, which reports each import; without that package a stub is used."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # None blocks its import
    import openvino  # noqa: PLC0415  an optional dependency

    return openvino
