from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tasks.images.config import Preprocessing
from tasks.images.preprocess import normalise
from tasks.model.backbone import Backbone, Outputs
from tasks.model.head import Projection
from tasks.training.config import FineTuningConfig
from tasks.training.finetuning import CaptionNetwork, Crops, TuningState, fine_tune
from tests.tasks.model.making import random

IMAGES, CHANNELS, TOPICS = 24, 6, 3
PREPROCESSING = Preprocessing(size=32)
CONFIG = FineTuningConfig(stages=1, epochs=4, batch=8, learning_rate=0.05, head_rate=1, dropout=0.1)
GROUP_N = torch.arange(IMAGES) % TOPICS
TARGET_NT = F.one_hot(GROUP_N, TOPICS).float()


class Tower(Backbone):
    """Three convolutions with batch norms; the last two are its stages."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stem = nn.Conv2d(3, CHANNELS, 8, stride=8)
        self.norm = nn.BatchNorm2d(CHANNELS)
        self.lower = nn.Conv2d(CHANNELS, CHANNELS, 1)
        self.upper = nn.Conv2d(CHANNELS, CHANNELS, 1)

    def single_pass(self, images_BCHW: Tensor) -> Outputs:
        map_BCHW = self.upper(self.lower(self.norm(self.stem(images_BCHW))).relu()).relu()
        return Outputs(map_BCHW, (map_BCHW,))

    def stages(self) -> Sequence[nn.Module]:
        return [self.lower, self.upper]

    def classify(self, _: Tensor) -> None:
        return None


def new_network() -> CaptionNetwork:
    return CaptionNetwork(Tower(), Projection(torch.zeros(CHANNELS), random(CHANNELS, TOPICS) / 10), CONFIG.dropout)


def crop(row: int, random: np.random.Generator) -> Tensor:
    """The colour of an image's group, under noise."""
    pixels_HWC = torch.from_numpy(random.integers(0, 80, (32, 32, 3), dtype=np.uint8))
    pixels_HWC[..., GROUP_N[row]] += 150
    return pixels_HWC


CROPS = Crops(crop, IMAGES, CONFIG.batch, workers=2, seed=0)


def error(network: CaptionNetwork) -> float:
    """The squared error on images that were not trained on."""
    pixels_BHWC = torch.stack([crop(row, np.random.default_rng(1000 + row)) for row in range(IMAGES)])
    with torch.inference_mode():
        predicted_NT = network.eval()(normalise(pixels_BHWC, PREPROCESSING))
    return float((predicted_NT - TARGET_NT).square().sum(1).mean())


def tune(
    network: CaptionNetwork, config: FineTuningConfig = CONFIG, checkpoint: Path | None = None, stop_after: int = 99
) -> TuningState:
    """Fine-tune, scored by the error; interrupted once `stop_after` epochs are in the checkpoint."""
    scored = 0

    def validate() -> float:
        nonlocal scored
        scored += 1
        if scored > stop_after + 1:  # the first score is of the start
            raise KeyboardInterrupt
        return -error(network)

    return fine_tune(
        network,
        CROPS,
        TARGET_NT,
        PREPROCESSING,
        config,
        device=torch.device("cpu"),
        validate=validate,
        checkpoint=checkpoint,
    )


def test_the_head_starts_as_the_ridge_of_averages() -> None:
    start = Projection(random(CHANNELS, seed=1) / 10, random(CHANNELS, TOPICS))
    network, images_BCHW = CaptionNetwork(Tower(), start, 0.2).eval(), random(4, 3, 32, 32)
    average_BC = F.normalize(network.backbone.outputs(images_BCHW).map_BCHW.mean((2, 3)), dim=1)
    torch.testing.assert_close(network(images_BCHW), (average_BC - start.shift_C) @ start.linear_CD)


def test_it_learns_and_ends_with_the_best_epoch() -> None:
    network = new_network()
    before = error(network)
    state = tune(network)
    assert error(network) < before / 2
    assert -error(network) == pytest.approx(max(state.scores))
    assert state.scores.index(max(state.scores)) == state.best_epoch
    assert len(state.scores) == CONFIG.epochs + 1


@pytest.mark.parametrize(
    ("stages", "frozen"), [(1, {"stem", "norm", "lower"}), (2, {"stem", "norm"}), (9, {"stem", "norm"})]
)
def test_only_the_upper_stages_change_and_no_statistic_of_a_batch_norm(stages: int, frozen: set[str]) -> None:
    network = new_network()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    tune(network, CONFIG.model_copy(update={"stages": stages}))
    changed = {name for name, tensor in network.state_dict().items() if not torch.equal(tensor, before[name])}
    parts = {name.split(".")[1] for name in before if name.startswith("backbone.")}
    assert {name.split(".")[1] for name in changed if name.startswith("backbone.")} == parts - frozen
    assert "head.weight" in changed


def test_a_stage_without_parameters_may_be_the_lowest() -> None:
    """Such as the activation that ends the first stage of timm's ResNets."""

    class WithActivation(Tower):
        def stages(self) -> Sequence[nn.Module]:
            return [nn.ReLU(), *super().stages()]

    network = CaptionNetwork(WithActivation(), Projection(torch.zeros(CHANNELS), random(CHANNELS, TOPICS)), 0)
    network.freeze_below(3)
    trained = {name.split(".")[0] for name, each in network.backbone.named_parameters() if each.requires_grad}
    assert trained == {"lower", "upper"}


def test_the_linear_map_learns_at_a_rate_of_its_own() -> None:
    def changes(head_rate: float) -> tuple[float, float]:
        network = new_network()
        before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
        tune(network, CONFIG.model_copy(update={"epochs": 1, "head_rate": head_rate}))
        after = network.state_dict()
        head, upper = (float((after[name] - before[name]).norm()) for name in ("head.weight", "backbone.upper.weight"))
        return head, upper

    slow, fast = changes(0.01), changes(1)
    assert slow[0] < 0.1 * fast[0]
    assert slow[1] > 0.3 * fast[1]


def test_bfloat16_predicts_nearly_the_same() -> None:
    network, images_BCHW = new_network().eval(), random(4, 3, 32, 32)
    with torch.autocast("cpu", torch.bfloat16):
        predicted_BT = network(images_BCHW)
    torch.testing.assert_close(predicted_BT.float(), network(images_BCHW), rtol=0.05, atol=0.02)


@pytest.mark.parametrize("stop_after", [0, 1, 3])
def test_a_killed_training_ends_as_if_it_had_not_been_killed(stop_after: int, tmp_path: Path) -> None:
    whole, resumed = new_network(), new_network()
    expected = tune(whole)
    with pytest.raises(KeyboardInterrupt):
        tune(new_network(), checkpoint=tmp_path / "checkpoint.pt", stop_after=stop_after)
    found = tune(resumed, checkpoint=tmp_path / "checkpoint.pt")
    assert (found.scores, found.best_epoch) == (expected.scores, expected.best_epoch)
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, resumed.state_dict()[name]), name


def test_a_damaged_checkpoint_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.pt").write_bytes(b"cut")
    assert tune(new_network(), checkpoint=tmp_path / "checkpoint.pt").scores == tune(new_network()).scores


def test_each_image_is_seen_once_an_epoch_in_another_order_and_crop() -> None:
    first, second = ([*CROPS.epoch(number)] for number in (1, 2))
    for batches in (first, second):
        assert sorted(row for rows, _ in batches for row in rows) == list(range(IMAGES))
        assert [len(rows) for rows, _ in batches] == [8, 8, 8]
    assert first[0][0].tolist() != second[0][0].tolist()
    row = first[0][0][0]
    (again,) = (pixels_BHWC[place] for rows, pixels_BHWC in second for place, other in enumerate(rows) if other == row)
    assert not torch.equal(first[0][1][0], again)
    repeated = [*CROPS.epoch(1)]
    assert all(torch.equal(one[1], other[1]) for one, other in zip(first, repeated, strict=True))


def test_a_loss_that_is_not_finite_is_one_sentence() -> None:
    config = CONFIG.model_copy(update={"learning_rate": 1e38})
    with pytest.raises(FloatingPointError, match=r"the loss is (nan|inf) in epoch \d; lower finetuning.learning_rate"):
        tune(new_network(), config)
