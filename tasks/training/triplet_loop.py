"""The triplet loop (METHOD.md 4, 5): mine, update, validate, keep the best weights."""

import copy
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from tasks.errors import InputError
from tasks.phrases import counted
from tasks.training.checkpoint import load_checkpoint, save_checkpoint
from tasks.training.config import TripletConfig
from tasks.training.embedders import Embed
from tasks.training.losses import BatchLoss, Modality, Term, batch_loss
from tasks.training.mining import Pool, Relevance, Triplets, mine, sample_pool
from tasks.training.text_embedding import TextEmbedding

POOL_CHUNK = 256
COLLAPSED_SPREAD = 1e-2
COLLAPSED_LOSS = 1e-3  # relative to the margin
NAMED = 5  # images of a batch whose loss is not finite
NO_TRIPLET = "No triplet could be mined: the captions of every image are equally similar to those of all others."


@dataclass
class TrainingState:
    """The state of a training, which a checkpoint contains together with the weights and the optimiser.

    best_scores has the best validation score before the first refresh and after each.
    """

    best_scores: list[float]
    best: dict[str, Tensor]
    best_refresh: int = 0
    refresh: int = 0
    updates: int = 0
    skipped: int = 0
    collapsed: bool = False

    @property
    def best_score(self) -> float:
        """The best validation score so far."""
        return self.best_scores[-1]

    def validated(self, score: float, model: nn.Module) -> None:
        """Record the score after a refresh, and keep the weights if it is the best."""
        if score > self.best_score:
            self.best_refresh, self.best = self.refresh, copy.deepcopy(model.state_dict())
            self.best_scores.append(score)
        else:  # also if the score is NaN
            self.best_scores.append(self.best_score)

    def is_hopeless(self, config: TripletConfig, beat: float | None) -> bool:
        """Return whether the best score cannot reach `beat` in the remaining refreshes.

        The gain of the last `patience` refreshes is extrapolated linearly; learning curves flatten, so this is an
        optimistic estimate. Before `patience` refreshes, nothing is hopeless.
        """
        if beat is None or self.refresh < config.patience:
            return False
        gain = (self.best_score - self.best_scores[-1 - config.patience]) / config.patience
        return self.best_score + gain * (config.refreshes - self.refresh) < beat

    def stop_reason(self, config: TripletConfig, beat: float | None = None) -> str | None:
        """Return why training stops before all refreshes are done; None if it does not."""
        if self.refresh >= config.refreshes:
            return None
        if self.collapsed:
            return "training collapsed"
        if self.refresh - self.best_refresh >= config.patience:
            return f"no improvement for {counted(config.patience, 'refresh', 'refreshes')}"
        if self.is_hopeless(config, beat):
            return f"its score of {self.best_score:.1f} cannot reach the {beat:.0f} of the best candidate"
        return None


@dataclass(frozen=True)
class Learner:
    """The model to train, its losses, and the functions that embed training images and their captions.

    `text` is the part of `model` that has the text's learning rate.
    """

    model: nn.Module
    terms: tuple[Term, ...]
    embeds: Mapping[Modality, Embed]
    text: TextEmbedding | None = None

    def optimiser(self, config: TripletConfig) -> torch.optim.Optimizer:
        """Create Adam over the parameters that require gradients."""
        text = set(self.text.parameters()) if self.text else set()
        trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        groups = [
            {"params": [each for each in trained if each not in text], "rate": config.rate},
            {"params": [each for each in trained if each in text], "rate": config.text_rate},
        ]
        return torch.optim.Adam([group for group in groups if group["params"]], lr=config.rate)


def train_triplets(
    learner: Learner,
    relevance: Relevance,
    config: TripletConfig,
    *,
    seed: int,
    validate: Callable[[], float],
    beat: float | None = None,
    log: Callable[[dict[str, float], int], None] = lambda _metrics, _step: None,
    on_step: Callable[[int], None] = lambda _: None,
    checkpoint: Path | None = None,
    name_of: Callable[[int], str] = "image {}".format,
) -> TrainingState:
    """Train the learner, which ends with the weights of the best validation score.

    The same seed gives the same weights on a CPU. A checkpoint is written after every refresh, and training resumes
    from an existing one. It stops early without improvement, after a collapse, or when it cannot reach `beat` (see
    `TrainingState.stop_reason`). Raises InputError if no refresh yields a triplet, and FloatingPointError if the loss
    is not finite, with images of the batch named by `name_of`.
    """
    if not len(relevance.queries()):
        raise InputError(NO_TRIPLET)
    model, random = learner.model, np.random.default_rng(seed)
    optimiser = learner.optimiser(config)
    state = _resume(checkpoint, model, optimiser, random) or TrainingState(
        best_scores=[float(validate())], best=copy.deepcopy(model.state_dict())
    )
    score: float | None = None  # of the current weights
    on_step(state.refresh)
    while state.refresh < config.refreshes and state.stop_reason(config, beat) is None:
        started = time.monotonic()
        pool = sample_pool(relevance, config.queries, config.relevant, config.pool, random)
        triplets, spread = _mine(learner, pool, relevance, config)
        losses, images = _update(learner, triplets, optimiser, config, state, random, name_of)
        state.refresh += 1
        state.skipped += triplets.count == 0
        if len(losses) or score is None:  # without an update the weights are those of the last validation
            score = float(validate())
        state.collapsed = spread < COLLAPSED_SPREAD or _at_half_margin(losses, len(learner.terms) * config.margin)
        metrics = {
            "queries": len(pool.query_Q),
            "pool_images": len(pool.row_P),
            "active_share": triplets.active_share,
            "spread": spread,
            "collapsed": float(state.collapsed),
            "learning_rate": optimiser.param_groups[0]["lr"],
            "images_per_second": (len(pool.row_P) + images) / (time.monotonic() - started),
            "validation_ndcg_auc": score,
        }
        if len(losses):
            metrics |= {"loss": float(losses.mean()), "images_per_triplet": images / len(losses)}
        log(metrics, state.refresh)
        state.validated(score, model)
        _save(checkpoint, state, model, optimiser, random)
        on_step(1)
    if state.skipped == state.refresh:
        raise InputError(NO_TRIPLET)
    model.load_state_dict(state.best)
    return state


def _mine(learner: Learner, pool: Pool, relevance: Relevance, config: TripletConfig) -> tuple[Triplets, float]:
    """Return the hard triplets of a pool by the first loss, and the spread of its embeddings: 1 − ‖their mean‖²."""
    term = learner.terms[0]
    embedding = {modality: _embed_pool(learner.embeds[modality], pool.row_P) for modality in {term.query, term.found}}
    query_PD, found_PD = embedding[term.query], embedding[term.found]
    triplets = mine(pool, query_PD, found_PD, relevance, config.hardest, config.margin)
    return triplets, 1 - float(query_PD.mean(0).square().sum())


def _embed_pool(embed: Embed, row_P: np.ndarray) -> Tensor:
    with torch.no_grad():
        return torch.cat([embed(rows) for rows in np.array_split(row_P, -(-len(row_P) // POOL_CHUNK))])


def _at_half_margin(loss_T: np.ndarray, margin: float) -> bool:
    """Return whether every loss is m / 2, the loss of embeddings that are all the same."""
    return len(loss_T) > 0 and bool((np.abs(loss_T - margin / 2) < COLLAPSED_LOSS * margin).all())


def _update(
    learner: Learner,
    triplets: Triplets,
    optimiser: torch.optim.Optimizer,
    config: TripletConfig,
    state: TrainingState,
    random: np.random.Generator,
    name_of: Callable[[int], str],
) -> tuple[np.ndarray, int]:
    """Make the updates of one refresh; returns all losses and the number of images embedded."""
    losses, images = [], 0
    for triplet_T3 in triplets.batches(config.updates, config.batch, random, config.shared):
        _set_learning_rate(optimiser, config, state.updates)
        batch = batch_loss(learner.terms, learner.embeds, triplet_T3, config.margin)
        loss = batch.loss_T.mean()
        if not torch.isfinite(loss):
            raise FloatingPointError(_not_finite(loss.item(), state.updates + 1, batch, name_of))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        state.updates += 1
        losses.append(batch.loss_T.detach().cpu().numpy())
        images += len(batch.row_U)
    return np.concatenate(losses) if losses else np.empty(0), images


def _not_finite(loss: float, update: int, batch: BatchLoss, name_of: Callable[[int], str]) -> str:
    """Describe a batch whose loss is not finite by its images without a finite embedding, or else by all of them."""
    broken_U = ~batch.embedding_UD.isfinite().all(1).cpu().numpy()
    rows = batch.row_U[broken_U] if broken_U.any() else batch.row_U
    more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    named = ", ".join(name_of(int(row)) for row in rows[:NAMED])
    return f"Training stopped: the loss is {loss} at update {update}, in a batch with {named}{more}."


def _set_learning_rate(optimiser: torch.optim.Optimizer, config: TripletConfig, updates: int) -> None:
    factor = config.lower_by if updates >= config.lower_after else 1
    for group in optimiser.param_groups:
        group["lr"] = group["rate"] * factor


def _save(
    path: Path | None,
    state: TrainingState,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    random: np.random.Generator,
) -> None:
    if path is None:
        return
    checkpoint = {
        "state": vars(state),
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "random": random.bit_generator.state,
    }
    save_checkpoint(checkpoint, path)


def _resume(
    path: Path | None, model: nn.Module, optimiser: torch.optim.Optimizer, random: np.random.Generator
) -> TrainingState | None:
    if path is None or (checkpoint := load_checkpoint(path)) is None:
        return None
    model.load_state_dict(checkpoint["model"])
    optimiser.load_state_dict(checkpoint["optimiser"])
    random.bit_generator.state = checkpoint["random"]
    return TrainingState(**checkpoint["state"])
