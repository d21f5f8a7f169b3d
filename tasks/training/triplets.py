"""The triplet loop (METHOD.md 4, 5): mine, update, validate, keep the best."""

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from tasks.errors import InputError
from tasks.model.losses import triplet_loss
from tasks.training.config import TripletConfig
from tasks.training.embedders import Embed
from tasks.training.mining import Relevance, Triplets, mine, sample_pool

POOL_CHUNK = 256
NAMED = 5  # images of a batch that broke
NO_TRIPLET = "No triplet could be mined: every image's captions are equally near to all others'."


@dataclass
class Progress:
    """How far training has come; all that a checkpoint holds beside the weights and the optimiser."""

    refresh: int = 0
    updates: int = 0
    skipped: int = 0
    best_score: float = -1.0
    best_refresh: int = 0
    best: dict[str, Tensor] = field(default_factory=dict)


def train_triplets(
    model: nn.Module,
    embed: Embed,
    relevance: Relevance,
    config: TripletConfig,
    *,
    seed: int,
    validate: Callable[[], float],
    log: Callable[[dict[str, float], int], None] = lambda _metrics, _step: None,
    on_step: Callable[[int], None] = lambda _: None,
    checkpoint: Path | None = None,
    name_of: Callable[[int], str] = "image {}".format,
) -> Progress:
    """Train the parameters of `model` that require gradients; it ends with the weights of the best validation score.

    The same seed gives the same weights on a CPU. A checkpoint is written after every refresh and taken up where one is
    there. Raises InputError where no refresh yields a triplet, FloatingPointError where the loss is not finite, with
    images of the batch by `name_of` their rows.
    """
    if not len(relevance.queries()):
        raise InputError(NO_TRIPLET)
    random = np.random.default_rng(seed)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimiser = torch.optim.Adam(parameters, lr=config.rate)
    progress = _resume(checkpoint, model, optimiser, random) or Progress(
        best_score=float(validate()), best=copy.deepcopy(model.state_dict())
    )
    on_step(progress.refresh)
    while progress.refresh < config.refreshes and progress.refresh - progress.best_refresh < config.patience:
        started = time.monotonic()
        pool = sample_pool(relevance, config.queries, config.relevant, config.pool, random)
        embedding_PD = _embed_pool(embed, pool.row_P)
        triplets = mine(pool, embedding_PD, relevance, config.hardest, config.margin)
        loss, images = _update(embed, triplets, optimiser, config, progress, random, name_of)
        progress.refresh += 1
        progress.skipped += triplets.count == 0
        metrics = {
            "queries": len(pool.query_Q),
            "pool_images": len(pool.row_P),
            "active_share": triplets.active_share,
            "spread": 1 - float(embedding_PD.mean(0).square().sum()),
            "learning_rate": optimiser.param_groups[0]["lr"],
            "images_per_second": (len(pool.row_P) + images) / (time.monotonic() - started),
            "validation_ndcg_auc": float(validate()),
        }
        if triplets.count:
            metrics["loss"] = loss
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


def _embed_pool(embed: Embed, row_P: np.ndarray) -> Tensor:
    with torch.no_grad():
        return torch.cat([embed(rows) for rows in np.array_split(row_P, -(-len(row_P) // POOL_CHUNK))])


def _update(
    embed: Embed,
    triplets: Triplets,
    optimiser: torch.optim.Optimizer,
    config: TripletConfig,
    progress: Progress,
    random: np.random.Generator,
    name_of: Callable[[int], str],
) -> tuple[float, int]:
    """Some updates on drawn triplets: (mean loss, images embedded). An image of a batch is embedded once."""
    losses, images = [], 0
    for triplet_T3 in triplets.batches(config.updates, config.batch, random):
        _set_learning_rate(optimiser, config, progress.updates)
        row_U, place_T3 = np.unique(triplet_T3, return_inverse=True)
        embedding_UD = embed(row_U)
        # index_select, whose gradient adds up in one order: that of plain indexing does not on a CPU
        place_N = torch.from_numpy(place_T3.reshape(-1)).to(embedding_UD.device)
        query_TD, relevant_TD, nonrelevant_TD = embedding_UD.index_select(0, place_N).unflatten(0, (-1, 3)).unbind(1)
        loss = triplet_loss(query_TD, relevant_TD, nonrelevant_TD, config.margin).mean()
        if not torch.isfinite(loss):
            raise FloatingPointError(_not_finite(loss.item(), progress.updates + 1, row_U, embedding_UD, name_of))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        progress.updates += 1
        losses.append(loss.item())
        images += len(row_U)
    return float(np.mean(losses)) if losses else 0.0, images


def _not_finite(
    loss: float, update: int, row_U: np.ndarray, embedding_UD: Tensor, name_of: Callable[[int], str]
) -> str:
    """The sentence about a batch: its images without a finite embedding, or all where every embedding is finite."""
    broken_U = ~embedding_UD.detach().isfinite().all(1).cpu().numpy()
    rows = row_U[broken_U] if broken_U.any() else row_U
    more = f" and {len(rows) - NAMED} more" if len(rows) > NAMED else ""
    named = ", ".join(name_of(int(row)) for row in rows[:NAMED])
    return f"The loss is {loss} at update {update}, with {named}{more}; training stops."


def _set_learning_rate(optimiser: torch.optim.Optimizer, config: TripletConfig, updates: int) -> None:
    rate = config.rate * (config.lower_by if updates >= config.lower_after else 1)
    for group in optimiser.param_groups:
        group["lr"] = rate


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
