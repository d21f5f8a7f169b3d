"""Loads images as batches of one shape, decoded in threads, with a bounded number in memory."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor

from tasks.errors import InputError
from tasks.images.config import Preprocessing
from tasks.images.preprocess import to_pixels


@dataclass(frozen=True)
class Batch:
    """pixels_BHWC, uint8, of the images at `rows` of the loaded list."""

    rows: tuple[int, ...]
    pixels_BHWC: Tensor


@dataclass(frozen=True)
class Refusal:
    """Why the image at `row` cannot be used."""

    row: int
    reason: str


def load_pixels(path: str, read: Callable[[str], bytes], preprocessing: Preprocessing) -> Tensor:
    """Return pixels_HWC of one file. Raises UnreadableImage, InputError or OSError."""
    return to_pixels(read(path), preprocessing)


def load_batches(
    paths: Sequence[str],
    read: Callable[[str], bytes],
    preprocessing: Preprocessing,
    *,
    batch_size: int,
    workers: int,
) -> Iterator[Batch | Refusal]:
    """Yield every path once, in a Batch with others of its shape or in a Refusal; a few batches are in memory."""
    pending: dict[torch.Size, list[tuple[int, Tensor]]] = defaultdict(list)
    for row, outcome in _in_order(paths, read, preprocessing, workers, ahead=2 * batch_size):
        if isinstance(outcome, str):
            yield Refusal(row, outcome)
            continue
        same_shape = pending[outcome.shape]
        same_shape.append((row, outcome))
        if len(same_shape) == batch_size:
            yield _batch(pending.pop(outcome.shape))
    yield from (_batch(same_shape) for same_shape in pending.values())


def _batch(images: list[tuple[int, Tensor]]) -> Batch:
    return Batch(tuple(row for row, _ in images), torch.stack([pixels for _, pixels in images]))


def _in_order(
    paths: Sequence[str],
    read: Callable[[str], bytes],
    preprocessing: Preprocessing,
    workers: int,
    ahead: int,
) -> Iterator[tuple[int, Tensor | str]]:
    """Yield row and pixels, or the reason for a refusal, in the order of the paths, decoded `ahead` of the consumer."""

    def outcome(path: str) -> Tensor | str:
        try:
            return load_pixels(path, read, preprocessing)
        except (InputError, OSError) as error:
            return str(error) or type(error).__name__

    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        pending: deque[Future[Tensor | str]] = deque()
        submitted = 0
        try:
            for row in range(len(paths)):
                while submitted < min(len(paths), row + ahead):
                    pending.append(pool.submit(outcome, paths[submitted]))
                    submitted += 1
                yield row, pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
