"""The triplet loop (METHOD.md 4, 5): mine, update, validate, keep the best."""

import copy
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn

from tasks.errors import InputError
from tasks.training.config import TripletConfig
from tasks.training.embedders import Embed
from tasks.training.losses import BatchLoss, Modality, Term, batch_loss
from tasks.training.mining import Pool, Relevance, Triplets, mine, mine_any, sample_any_pool, sample_pool

POOL_CHUNK = 256
COLLAPSED_SPREAD = 1e-2
COLLAPSED_LOSS = 1e-3  # of the margin
NAMED = 5  # images of a batch that broke
NO_TRIPLET = "No triplet could be mined: every image's captions are equally near to all others'."


@dataclass
class Progress:
    """How far training has come; all that a checkpoint holds beside the weights and the optimiser."""

    refresh: int = 0
    updates: int = 0
    skipped: int = 0
    collapsed: bool = False
    best_score: float = -1.0
    best_refresh: int = 0
    best: dict[str, Tensor] = field(default_factory=dict)

    def goes_on(self, config: TripletConfig) -> bool:
        """Whether there is another refresh to come."""
        patient = self.refresh - self.best_refresh < config.patience
        return patient and self.refresh < config.refreshes and not self.collapsed


@dataclass(frozen=True)
class Learner:
    """What is trained, by which losses, and how train images and their texts are embedded by it.

    `text` is the part of `model` that has the text's learning rate.
    """

    model: nn.Module
    terms: tuple[Term, ...]
    embeds: Mapping[Modality, Embed]
    text: nn.Module | None = None

    def optimiser(self, config: TripletConfig) -> torch.optim.Optimizer:
        """Adam over the parameters that require gradients."""
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
    tfidf_NV: csr_array,
    seed: int,
    validate: Callable[[], float],
    log: Callable[[dict[str, float], int], None] = lambda _metrics, _step: None,
    on_step: Callable[[int], None] = lambda _: None,
    checkpoint: Path | None = None,
    name_of: Callable[[int], str] = "image {}".format,
) -> Progress:
    """Train the learner; it ends with the weights of the best validation score.

    The same seed gives the same weights on a CPU. A checkpoint is written after every refresh and taken up where one is
    there. A collapse ends training and is said in the answer. Raises InputError where no refresh yields a triplet,
    FloatingPointError where the loss is not finite, with images of the batch by `name_of` their rows.
    """
    if not len(relevance.queries()):
        raise InputError(NO_TRIPLET)
    model, random = learner.model, np.random.default_rng(seed)
    optimiser = learner.optimiser(config)
    progress = _resume(checkpoint, model, optimiser, random) or Progress(
        best_score=float(validate()), best=copy.deepcopy(model.state_dict())
    )
    on_step(progress.refresh)
    while progress.goes_on(config):
        started = time.monotonic()
        sample = sample_pool if config.sampler == "relevant" else sample_any_pool
        pool = sample(relevance, config.queries, config.relevant, config.pool, random)
        triplets, spread = _mine(learner, pool, relevance, tfidf_NV, config)
        losses, images = _update(learner, triplets, optimiser, config, progress, random, name_of)
        progress.refresh += 1
        progress.skipped += triplets.count == 0
        progress.collapsed = spread < COLLAPSED_SPREAD or _at_half_margin(losses, len(learner.terms) * config.margin)
        metrics = {
            "queries": len(pool.query_Q),
            "pool_images": len(pool.row_P),
            "active_share": triplets.active_share,
            "spread": spread,
            "collapsed": float(progress.collapsed),
            "learning_rate": optimiser.param_groups[0]["lr"],
            "images_per_second": (len(pool.row_P) + images) / (time.monotonic() - started),
            "validation_ndcg_auc": float(validate()),
        }
        if len(losses):
            metrics |= {"loss": float(losses.mean()), "images_per_triplet": images / len(losses)}
        log(metrics, progress.refresh)
        if metrics["validation_ndcg_auc"] > progress.best_score:
            progress.best_score, progress.best_refresh = metrics["validation_ndcg_auc"], progress.refresh
            progress.best = copy.deepcopy(model.state_dict())
        _save(checkpoint, progress, model, optimiser, random)
        on_step(1)
    if progress.skipped == progress.refresh:
        raise InputError(NO_TRIPLET)
    model.load_state_dict(progress.best)
    return progress


def _mine(
    learner: Learner, pool: Pool, relevance: Relevance, tfidf_NV: csr_array, config: TripletConfig
) -> tuple[Triplets, float]:
    """The hard triplets of a pool by the first loss, and the spread of its embeddings: 1 − ‖their mean‖²."""
    term = learner.terms[0]
    embedding = {modality: _embed_pool(learner.embeds[modality], pool.row_P) for modality in {term.query, term.found}}
    query_PD, found_PD = embedding[term.query], embedding[term.found]
    triplets = (
        mine(pool, query_PD, found_PD, relevance, config.hardest, config.margin)
        if config.sampler == "relevant"
        else mine_any(pool, query_PD, found_PD, relevance, tfidf_NV, config.hardest, config.margin)
    )
    return triplets, 1 - float(query_PD.mean(0).square().sum())


def _embed_pool(embed: Embed, row_P: np.ndarray) -> Tensor:
    with torch.no_grad():
        return torch.cat([embed(rows) for rows in np.array_split(row_P, -(-len(row_P) // POOL_CHUNK))])


def _at_half_margin(loss_T: np.ndarray, margin: float) -> bool:
    """Whether every loss is m / 2: nothing tells a relevant image from another."""
    return len(loss_T) > 0 and bool((np.abs(loss_T - margin / 2) < COLLAPSED_LOSS * margin).all())


def _update(
    learner: Learner,
    triplets: Triplets,
    optimiser: torch.optim.Optimizer,
    config: TripletConfig,
    progress: Progress,
    random: np.random.Generator,
    name_of: Callable[[int], str],
) -> tuple[np.ndarray, int]:
    """Some updates on drawn triplets: (loss_T of all, images embedded)."""
    losses, images = [], 0
    for triplet_T3 in triplets.batches(config.updates, config.batch, random, config.shared):
        _set_learning_rate(optimiser, config, progress.updates)
        batch = batch_loss(learner.terms, learner.embeds, triplet_T3, config.margin)
        loss = batch.loss_T.mean()
        if not torch.isfinite(loss):
            raise FloatingPointError(_not_finite(loss.item(), progress.updates + 1, batch, name_of))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        progress.updates += 1
        losses.append(batch.loss_T.detach().cpu().numpy())
        images += len(batch.row_U)
    return np.concatenate(losses) if losses else np.empty(0), images


def _not_finite(loss: float, update: int, batch: BatchLoss, name_of: Callable[[int], str]) -> str:
    """The sentence about a batch: its images without a finite embedding, or all where every embedding is finite."""
    broken_U = ~batch.embedding_UD.isfinite().all(1).cpu().numpy()
    rows = batch.row_U[broken_U] if broken_U.any() else batch.row_U
    more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    named = ", ".join(name_of(int(row)) for row in rows[:NAMED])
    return f"The loss is {loss} at update {update}, with {named}{more}; training stops."


def _set_learning_rate(optimiser: torch.optim.Optimizer, config: TripletConfig, updates: int) -> None:
    lower = config.lower_by if updates >= config.lower_after else 1
    for group in optimiser.param_groups:
        group["lr"] = group["rate"] * lower


def _save(
    path: Path | None,
    progress: Progress,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    random: np.random.Generator,
) -> None:
    if path is None:
        return
    state = {
        "progress": vars(progress),
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
        "random": random.bit_generator.state,
    }
    torch.save(state, path.with_suffix(".tmp"))
    path.with_suffix(".tmp").replace(path)


def _resume(
    path: Path | None, model: nn.Module, optimiser: torch.optim.Optimizer, random: np.random.Generator
) -> Progress | None:
    if path is None or not path.exists():
        return None
    device = next(model.parameters()).device
    try:
        state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
    except Exception:  # a damaged checkpoint costs its time, nothing else
        return None
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    random.bit_generator.state = state["random"]
    return Progress(**state["progress"])
