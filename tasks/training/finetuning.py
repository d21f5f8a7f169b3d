"""Fine-tuning: the upper stages of a network learn to predict the caption vector (METHOD.md 10)."""

import copy
import math
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tasks.images.config import Preprocessing
from tasks.images.preprocess import normalise
from tasks.model.backbone import Backbone
from tasks.model.head import Projection
from tasks.training.checkpoint import load_checkpoint, save_checkpoint
from tasks.training.config import FineTuningConfig

AHEAD = 3  # batches that are decoded while the network learns from another


class CaptionNetwork(nn.Module):
    """A backbone with a linear map from its averaged last feature map to the caption vector; batch norms are frozen."""

    def __init__(self, backbone: Backbone, start: Projection, dropout: float) -> None:
        super().__init__()
        self.backbone = backbone
        channels, topics = start.linear_CD.shape
        self.scale = math.sqrt(channels)  # a unit vector's coordinates are about 1 / scale
        self.dropout = dropout
        self.head = nn.Linear(channels, topics)
        with torch.no_grad():
            self.head.weight.copy_(start.linear_CD.T / self.scale)
            self.head.bias.copy_(-start.shift_C @ start.linear_CD)

    def forward(self, images_BCHW: Tensor) -> Tensor:
        """Predict target_BT."""
        average_BC = self.backbone.single_pass(images_BCHW).map_BCHW.mean((2, 3))
        scaled_BC = F.normalize(average_BC.float(), dim=1) * self.scale
        predicted_BT: Tensor = self.head(F.dropout(scaled_BC, self.dropout, self.training))
        return predicted_BT

    def train(self, mode: bool = True) -> "CaptionNetwork":
        """Set the training mode of everything but the backbone, whose batch norms keep their statistics."""
        super().train(mode)
        self.backbone.eval()
        return self

    def freeze_below(self, stages: int) -> None:
        """Train only the backbone's last `stages` stages, and what follows them."""
        trained = {parameter for stage in self.backbone.stages()[-stages:] for parameter in stage.parameters()}
        for parameter in takewhile(lambda parameter: parameter not in trained, self.backbone.parameters()):
            parameter.requires_grad_(False)

    def parameter_groups(self) -> list[dict[str, list[nn.Parameter]]]:
        """Return what is trained of the backbone, and the linear map."""
        trained = [parameter for parameter in self.backbone.parameters() if parameter.requires_grad]
        return [{"params": trained}, {"params": [*self.head.parameters()]}]


@dataclass
class TuningState:
    """The state of a training, which a checkpoint contains together with the weights and the optimiser.

    scores has the validation score before the first epoch and after each.
    """

    scores: list[float]
    best: dict[str, Tensor]
    best_epoch: int = 0
    epoch: int = 0

    def validated(self, score: float, network: nn.Module) -> None:
        """Record the score after an epoch, and keep the weights if it is the best."""
        if score > self.scores[self.best_epoch]:
            self.best_epoch, self.best = self.epoch, copy.deepcopy(network.state_dict())
        self.scores.append(score)


@dataclass(frozen=True)
class Crops:
    """Random crops of the training images, decoded in threads; an epoch's depend on its number and the seed alone."""

    crop: Callable[[int, np.random.Generator], Tensor]  # of the image in a row → pixels_HWC
    images: int
    batch: int
    workers: int
    seed: int

    def epoch(self, number: int) -> Iterator[tuple[np.ndarray, Tensor]]:
        """Yield the rows and pixels_BHWC of each batch, in random order."""
        order_N = np.random.default_rng([self.seed, number]).permutation(self.images)
        batches = [order_N[start : start + self.batch] for start in range(0, self.images, self.batch)]
        with ThreadPoolExecutor(self.workers) as pool:

            def load(rows: np.ndarray) -> Iterator[Tensor]:
                return pool.map(lambda row: self.crop(row, np.random.default_rng([self.seed, number, row])), rows)

            started = deque(map(load, batches[:AHEAD]))
            for place, rows in enumerate(batches):
                pixels_BHWC = torch.stack([*started.popleft()])
                started.extend(map(load, batches[place + AHEAD : place + AHEAD + 1]))
                yield rows, pixels_BHWC

    @property
    def batches(self) -> int:
        """The number of batches of an epoch."""
        return -(-self.images // self.batch)


def fine_tune(
    network: CaptionNetwork,
    crops: Crops,
    target_NT: Tensor,
    preprocessing: Preprocessing,
    config: FineTuningConfig,
    *,
    device: torch.device,
    validate: Callable[[], float],
    log: Callable[[dict[str, float], int], None] = lambda _metrics, _step: None,
    on_step: Callable[[int], None] = lambda _: None,
    checkpoint: Path | None = None,
) -> TuningState:
    """Train the network, which ends with the weights of the best validation score.

    On CUDA it computes in bfloat16. The same seed gives the same weights on a CPU. A checkpoint is written after every
    epoch, and training resumes from an existing one as if it had not been interrupted. Raises FloatingPointError if the
    loss is not finite.
    """
    network.freeze_below(config.stages)
    optimiser = torch.optim.AdamW(network.parameter_groups())
    rates = [config.learning_rate, config.learning_rate * config.head_rate]
    steps = config.epochs * crops.batches
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rates, total_steps=steps)
    state = _resume(checkpoint, network, optimiser, schedule) or TuningState(
        [float(validate())], copy.deepcopy(network.state_dict())
    )
    on_step(state.epoch * crops.batches)
    while state.epoch < config.epochs:
        state.epoch += 1
        torch.manual_seed(crops.seed + state.epoch)  # of the dropout
        network.train()
        losses = []
        for rows, pixels_BHWC in crops.epoch(state.epoch):
            images_BCHW = normalise(pixels_BHWC.to(device, non_blocking=True), preprocessing)
            with torch.autocast("cuda", torch.bfloat16) if device.type == "cuda" else nullcontext():
                predicted_BT = network(images_BCHW)
            loss = (predicted_BT.float() - target_NT[rows].to(device)).square().sum(1).mean()
            if not torch.isfinite(loss):
                raise FloatingPointError(
                    f"Fine-tuning stopped: the loss is {loss.item()} in epoch {state.epoch}; lower "
                    "finetuning.learning_rate."
                )
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            losses.append(loss.detach())
            on_step(1)
        network.eval()
        score = float(validate())
        state.validated(score, network)
        log({"loss": float(torch.stack(losses).mean()), "validation_ndcg_auc": score}, state.epoch)
        _save(checkpoint, state, network, optimiser, schedule)
    network.load_state_dict(state.best)
    return state


def _save(checkpoint: Path | None, state: TuningState, *parts: Any) -> None:
    if checkpoint is not None:
        save_checkpoint({"state": vars(state), "parts": [part.state_dict() for part in parts]}, checkpoint)


def _resume(checkpoint: Path | None, *parts: Any) -> TuningState | None:
    if checkpoint is None or (saved := load_checkpoint(checkpoint)) is None:
        return None
    for part, values in zip(parts, saved["parts"], strict=True):
        part.load_state_dict(values)
    return TuningState(**saved["state"])
