"""Loads images as batches of one shape, decoded in threads, with a bounded number in memory."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import torch

from tasks.errors import InputError
from tasks.images.config import Preprocessing
from tasks.images.preprocess import Inputs, to_inputs


@dataclass(frozen=True)
class Batch:
    """The images at `rows` of the loaded list, as pixels_BHWC for each network."""

    rows: tuple[int, ...]
    inputs: Inputs


@dataclass(frozen=True)
class Refusal:
    """Why the image at `row` cannot be used."""

    row: int
    reason: str


def load_inputs(path: str, read: Callable[[str], bytes], preprocessings: Sequence[Preprocessing]) -> Inputs:
    """Return pixels_HWC of one file for each network. Raises UnreadableImage, InputError or OSError."""
    return to_inputs(read(path), preprocessings)


def load_batches(
    paths: Sequence[str],
    read: Callable[[str], bytes],
    preprocessings: Sequence[Preprocessing],
    *,
    batch_size: int,
    workers: int,
) -> Iterator[Batch | Refusal]:
    """Yield every path once, in a Batch with others of its shapes or in a Refusal; a few batches are in memory."""
    pending: dict[tuple[torch.Size, ...], list[tuple[int, Inputs]]] = defaultdict(list)
    for row, outcome in _in_order(paths, read, preprocessings, workers, ahead=2 * batch_size):
        if isinstance(outcome, str):
            yield Refusal(row, outcome)
            continue
        shapes = tuple(pixels_HWC.shape for pixels_HWC in outcome)
        same_shape = pending[shapes]
        same_shape.append((row, outcome))
        if len(same_shape) == batch_size:
            yield _batch(pending.pop(shapes))
    yield from (_batch(same_shape) for same_shape in pending.values())


def stack(images: Sequence[Inputs]) -> Inputs:
    """Return images of one shape as pixels_BHWC for each network."""
    return tuple(torch.stack(pixels) for pixels in zip(*images, strict=True))


def _batch(images: list[tuple[int, Inputs]]) -> Batch:
    return Batch(tuple(row for row, _ in images), stack([inputs for _, inputs in images]))


def _in_order(
    paths: Sequence[str],
    read: Callable[[str], bytes],
    preprocessings: Sequence[Preprocessing],
    workers: int,
    ahead: int,
) -> Iterator[tuple[int, Inputs | str]]:
    """Yield row and inputs, or the reason for a refusal, in the order of the paths, decoded `ahead` of the consumer."""

    def outcome(path: str) -> Inputs | str:
        try:
            return load_inputs(path, read, preprocessings)
        except (InputError, OSError) as error:
            return str(error) or type(error).__name__

    with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        pending: deque[Future[Inputs | str]] = deque()
        submitted = 0
        try:
            for row in range(len(paths)):
                while submitted < min(len(paths), row + ahead):
                    pending.append(pool.submit(outcome, paths[submitted]))
                    submitted += 1
                yield row, pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
