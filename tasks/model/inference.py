"""Backbones prepared for fast inference: folded batch norms, OpenVINO on CPUs."""

import copy
import sys
import warnings
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
    """A copy in evaluation mode, equal up to rounding: what a batch norm does, its convolution's weights do already.

    A network has to define its layers in the order in which it runs them.
    """
    folded = copy.deepcopy(network).eval()
    for module in list(folded.modules()):
        for (name, layer), (next_name, norm) in pairwise(list(module.named_children())):
            if isinstance(layer, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d):
                setattr(module, name, fuse_conv_bn_eval(layer, norm))
                setattr(module, next_name, getattr(norm, "act", nn.Identity()))  # timm's norms hold the activation
    return folded.to(memory_format=torch.channels_last)


WORTH = 200  # images: fewer seldom win back the 2 s that preparing OpenVINO takes


def accelerate(backbone: Backbone, device: torch.device, images: int) -> Backbone:
    """A copy for inference over that many images, equal up to rounding: batch norms folded, channels last.

    On a CPU with the extra `openvino`, a copy that OpenVINO runs, from WORTH images on. Against the folded copy in
    torch, on two cores at 224 pixels (`benchmarks/acceleration.py`), it was 1.3 times as fast with EfficientNet-Lite0
    and 1.0 to 1.1 times with ResNet-101 on a quiet machine, 3 and 2.5 times where other programs kept the cores busy.
    Raises InputError where OpenVINO fails.
    """
    folded = fold_batch_norm(backbone).to(device)
    if device.type != "cpu" or images < WORTH or find_spec("openvino") is None:
        return folded
    try:
        return _Compiled(folded)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(
            f"OpenVINO cannot run this network ({type(error).__name__}: {reason}); "
            "uninstall openvino, the extra, to do without it."
        ) from error


class _Compiled(Backbone):
    """A network compiled once, for every shape: OpenVINO keeps one set of weights and a bounded cache of kernels."""

    def __init__(self, network: Backbone) -> None:
        super().__init__()
        self.mirror = network.mirror
        self._classify = network.classify  # in torch, where gradients pass
        openvino = _openvino()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # torch prefers export, which takes minutes on free shapes
            traced = torch.jit.trace(_Flat(network), torch.zeros(2, 3, 64, 96), check_trace=False)
        converted = openvino.convert_model(traced, input=[-1, 3, -1, -1])
        settings = {
            "INFERENCE_PRECISION_HINT": "f32",  # a CPU that knows bfloat16 would take it
            "INFERENCE_NUM_THREADS": torch.get_num_threads(),
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,  # a thread that is held to one core waits for whoever else is on it
        }
        self.compiled = openvino.Core().compile_model(converted, "CPU", settings)

    def single_pass(self, images_BCHW: Tensor) -> Outputs:
        answer = self.compiled([images_BCHW.contiguous().numpy()], share_inputs=True)
        map_BCHW, *inner_BCHW, logit_BK = (torch.from_numpy(array) for array in answer.values())
        return Outputs(map_BCHW, tuple(inner_BCHW), logit_BK)

    def classify(self, map_BCHW: Tensor) -> Tensor:
        return self._classify(map_BCHW)


class _Flat(nn.Module):
    """All outputs of a single pass of a network as a tuple of tensors, as tracing wants it."""

    def __init__(self, network: Backbone) -> None:
        super().__init__()
        self.network = network

    def forward(self, images_BCHW: Tensor) -> tuple[Tensor, ...]:
        outputs = self.network.single_pass(images_BCHW)
        return (outputs.map_BCHW, *outputs.inner_BCHW, outputs.logit_BK)


def _openvino() -> Any:
    """The library without openvino-telemetry, which reports each import: without that package it uses a stub."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # None: cannot be imported
    import openvino  # noqa: PLC0415  an extra

    return openvino
