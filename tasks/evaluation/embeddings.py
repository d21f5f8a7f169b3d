"""The embeddings of the compared methods, of which only those in use take memory."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np


class Embeddings(Mapping[str, np.ndarray]):
    """embedding_ND by method, read or computed whenever it is asked for and not kept."""

    def __init__(self, loaders: Mapping[str, Callable[[], np.ndarray]]) -> None:
        self._loaders = dict(loaders)

    def __getitem__(self, method: str) -> np.ndarray:
        return self._loaders[method]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._loaders)

    def __len__(self) -> int:
        return len(self._loaders)
