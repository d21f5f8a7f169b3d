"""scenekin: find the images whose scene means the same."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scenekin.searcher import Result, Searcher
    from tasks.metrics.ndcg import ndcg
    from tasks.metrics.pcc import pcc
    from tasks.model.pooling import rmac
    from tasks.surrogate.neighbours import nearest_neighbours
    from tasks.training.losses import triplet_loss

# Imported when first asked for: each pulls in libraries that the others do not need.
_HOMES = {
    "Result": "scenekin.searcher",
    "Searcher": "scenekin.searcher",
    "ndcg": "tasks.metrics.ndcg",
    "nearest_neighbours": "tasks.surrogate.neighbours",
    "pcc": "tasks.metrics.pcc",
    "rmac": "tasks.model.pooling",
    "triplet_loss": "tasks.training.losses",
}

__all__ = ["Result", "Searcher", "ndcg", "nearest_neighbours", "pcc", "rmac", "triplet_loss"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'scenekin' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
