import copy
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tasks.errors import InputError
from tasks.features.extract import extract
from tasks.images.config import Preprocessing
from tasks.model import inference
from tasks.model.architectures import create_backbone
from tasks.model.backbone import Outputs
from tasks.model.config import BackboneConfig, PoolingConfig
from tasks.model.inference import fold_batch_norm, optimise_for_inference
from tasks.model.pooling import describe, pool
from tests.tasks.images.making import encode, noise
from tests.tasks.model.making import TinyBackbone, random

CPU = torch.device("cpu")
POOLINGS = [PoolingConfig(kind=kind) for kind in ("gap", "gem", "rmac_max", "rmac_mean", "blocks")]

with_extra = pytest.mark.skipif(find_spec("openvino") is None, reason="the extra openvino is not installed")


def tensors(outputs: Outputs) -> list[Tensor]:
    return [outputs.map_BCHW, *outputs.inner_BCHW, outputs.logit_BK]


def runs_in_torch(network: nn.Module) -> bool:
    return any(isinstance(module, nn.Conv2d) for module in network.modules())


@with_extra
@pytest.mark.parametrize(
    ("name", "mirror"),
    [("efficientnet_lite0", False), ("efficientnet_lite0", True), ("resnet18", False), ("resnet101", False)],
)
def test_openvino_gives_what_torch_gives(name: str, mirror: bool) -> None:
    torch.manual_seed(0)
    config = BackboneConfig(name=name, mirror=mirror)
    network = create_backbone(config, pretrained=name == "efficientnet_lite0")
    if name != "efficientnet_lite0":
        unsettle(network)
    found = optimise_for_inference(network, CPU)
    assert not runs_in_torch(found)
    for shape in [(3, 3, 64, 96), (1, 3, 96, 64), (2, 3, 32, 224)]:
        images_BCHW = random(*shape, seed=9).to(memory_format=torch.channels_last)
        with torch.inference_mode():
            expected_outputs, found_outputs = network.outputs(images_BCHW), found.outputs(images_BCHW)
        for expected, answer in zip(tensors(expected_outputs), tensors(found_outputs), strict=True):
            assert answer.dtype == torch.float32
            torch.testing.assert_close(
                answer / expected.abs().max(), expected / expected.abs().max(), atol=1e-4, rtol=0
            )
        for pooling in POOLINGS:
            cosine_BR = F.cosine_similarity(
                describe([expected_outputs], pooling), describe([found_outputs], pooling), dim=-1
            )
            assert cosine_BR.min() > 0.9999


@with_extra
def test_an_answer_outlives_the_next() -> None:
    network = TinyBackbone()
    compiled = optimise_for_inference(network, CPU)
    first, second = random(2, 3, 64, 64), random(2, 3, 64, 64, seed=1)
    kept = compiled.outputs(first)
    compiled.outputs(second)
    for expected, answer in zip(tensors(network.outputs(first)), tensors(kept), strict=True):
        torch.testing.assert_close(answer, expected.detach(), atol=1e-5, rtol=0)


def features(images: int) -> dict[int, Tensor]:
    """Features of so many images, by their rows."""

    def read(path: str) -> bytes:
        return encode(noise(*((64, 96) if int(path) % 3 == 0 else (96, 96)), seed=int(path)))

    batches = extract(
        TinyBackbone(),
        [PoolingConfig(kind="blocks")],
        [str(row) for row in range(images)],
        read,
        Preprocessing(size=96),
        device=CPU,
        batch_size=2,
        workers=1,
    )
    found = {}
    for item in batches:
        assert isinstance(item, tuple)
        found |= dict(zip(item[0], item[1][0], strict=True))
    assert found.keys() == set(range(images))
    return found


@with_extra
def test_features_are_those_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    found = features(7)
    monkeypatch.setattr(inference, "find_spec", lambda _: None)
    for row, descriptor_RC in features(7).items():
        torch.testing.assert_close(found[row], descriptor_RC, atol=1e-5, rtol=0)


@with_extra
@pytest.mark.parametrize("images", [1, 7])
def test_the_engine_does_not_depend_on_how_many_images_are_new(images: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[object] = []
    engine = inference._Compiled
    monkeypatch.setattr(inference, "_Compiled", lambda network: compiled.append(network) or engine(network))
    assert features(0) == {}
    assert not compiled
    features(images)
    assert len(compiled) == 1


def test_another_device_stays_with_torch() -> None:
    assert runs_in_torch(optimise_for_inference(TinyBackbone(), torch.device("meta")))


def test_without_the_extra_all_stays_with_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inference, "find_spec", lambda _: None)
    network = TinyBackbone()
    folded = optimise_for_inference(network, CPU)
    assert runs_in_torch(folded)
    images_BCHW = random(2, 3, 64, 96)
    torch.testing.assert_close(folded(images_BCHW), network(images_BCHW), atol=1e-5, rtol=0)


@with_extra
def test_a_network_that_openvino_cannot_run_is_refused_with_the_way_out() -> None:
    class Odd(TinyBackbone):
        def single_pass(self, images_BCHW: Tensor) -> Outputs:
            map_BCHW = torch.special.bessel_j0(images_BCHW)
            return Outputs(map_BCHW, (map_BCHW,), map_BCHW.mean((2, 3)))

    with pytest.raises(
        InputError, match=r"^OpenVINO cannot run this network \(.*uninstall openvino to use torch"
    ) as caught:
        optimise_for_inference(Odd(), CPU)
    assert "\n" not in str(caught.value)


@with_extra
def test_openvino_reports_to_nobody_and_leaves_no_files(tmp_path: Path) -> None:
    script = """
import sys
seen = []
asked = {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "subprocess.Popen", "urllib.Request"}
sys.addaudithook(lambda event, args: seen.append(event) if event in asked else None)
import torch
from tasks.model.inference import optimise_for_inference
from tests.tasks.model.making import TinyBackbone
seen.clear()  # what importing torch asks of the machine
optimise_for_inference(TinyBackbone(), torch.device("cpu")).outputs(torch.zeros(1, 3, 64, 64))
assert "openvino" in sys.modules
print(seen, sorted(name for name in sys.modules if name.startswith("openvino_telemetry.")))
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
        env={**{k: v for k, v in os.environ.items() if k != "CI"}, "HOME": str(tmp_path)},
    )
    assert done.stdout.splitlines()[-1] == "[] []"
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def unsettle(network: nn.Module) -> None:
    """Batch norms that do something, as after training."""
    for seed, norm in enumerate(module for module in network.modules() if isinstance(module, nn.BatchNorm2d)):
        with torch.no_grad():
            norm.running_mean.copy_(random(norm.num_features, seed=seed) / 10)
            norm.running_var.copy_(random(norm.num_features, seed=seed + 1).exp())
            norm.weight.copy_(1 + random(norm.num_features, seed=seed + 2) / 10)
            norm.bias.copy_(random(norm.num_features, seed=seed + 3) / 10)


@pytest.mark.parametrize("name", ["efficientnet_lite0", "resnet18", "resnet50"])  # the others are made of their parts
def test_the_folded_network_gives_the_same_map_without_any_batch_norm(name: str) -> None:
    network = create_backbone(BackboneConfig(name=name), pretrained=False).double()
    unsettle(network)
    folded = fold_batch_norm(network)
    assert any(isinstance(module, nn.BatchNorm2d) for module in network.modules())
    assert not any(isinstance(module, nn.BatchNorm2d) for module in folded.modules())
    with torch.inference_mode():
        expected_BCHW, found_BCHW = (net(random(2, 3, 64, 96, seed=9).double()) for net in (network, folded))
    scale = expected_BCHW.abs().max()
    assert scale > 0
    torch.testing.assert_close(found_BCHW / scale, expected_BCHW / scale, atol=1e-9, rtol=0)


def test_with_real_weights_descriptors_agree_to_five_digits() -> None:
    network = create_backbone(BackboneConfig())
    with torch.inference_mode():
        maps = [net(random(4, 3, 64, 64)) for net in (network, fold_batch_norm(network))]
    expected_BRC, found_BRC = (pool(feature_map_BCHW, PoolingConfig(kind="gap")) for feature_map_BCHW in maps)
    torch.testing.assert_close(found_BRC, expected_BRC, atol=1e-5, rtol=0)


def test_the_network_itself_stays_as_it_was() -> None:
    network = TinyBackbone().train()
    before = copy.deepcopy(network.state_dict())
    folded = fold_batch_norm(network)
    assert network.training
    assert not folded.training
    assert isinstance(network.norm, nn.BatchNorm2d)
    assert all((network.state_dict()[name] == tensor).all() for name, tensor in before.items())


def test_a_batch_norm_without_a_convolution_before_it_stays() -> None:
    network = nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, 4, 1), nn.ReLU(), nn.BatchNorm2d(4)).eval()
    unsettle(network)
    images_BCHW = random(2, 3, 5, 5)
    torch.testing.assert_close(fold_batch_norm(network)(images_BCHW), network(images_BCHW))
