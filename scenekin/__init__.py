"""scenekin: find images that show the same kind of scene."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scenekin.own_packages import import_own_packages

if TYPE_CHECKING:
    from scenekin.errors import InputError, MissingImage, NoTextModel, StorageError
    from scenekin.searcher import Query, Result, Searcher
    from tasks.metrics.ndcg import ndcg
    from tasks.metrics.pcc import pcc
    from tasks.model.pooling import rmac
    from tasks.surrogate.neighbours import nearest_neighbours
    from tasks.training.losses import triplet_loss

    __version__: str

import_own_packages(Path(__file__).parents[1])

# Imported on first use: each needs libraries that the others do not.
_MODULES = {
    "InputError": "scenekin.errors",
    "MissingImage": "scenekin.errors",
    "NoTextModel": "scenekin.errors",
    "Query": "scenekin.searcher",
    "Result": "scenekin.searcher",
    "Searcher": "scenekin.searcher",
    "StorageError": "scenekin.errors",
    "ndcg": "tasks.metrics.ndcg",
    "nearest_neighbours": "tasks.surrogate.neighbours",
    "pcc": "tasks.metrics.pcc",
    "rmac": "tasks.model.pooling",
    "triplet_loss": "tasks.training.losses",
}

__all__ = [
    "InputError",
    "MissingImage",
    "NoTextModel",
    "Query",
    "Result",
    "Searcher",
    "StorageError",
    "__version__",
    "ndcg",
    "nearest_neighbours",
    "pcc",
    "rmac",
    "triplet_loss",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415

        return version("scenekin")
    if name not in _MODULES:
        raise AttributeError(f"module 'scenekin' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
