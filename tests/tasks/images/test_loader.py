import threading
import time
from collections.abc import Callable

import pytest
import torch

from tasks.images.config import Preprocessing
from tasks.images.decode import UnreadableImage
from tasks.images.loader import Batch, Refusal, load_batches, load_inputs
from tests.tasks.images.making import encode, flat

SMALL, SMALLER = Preprocessing(size=64), Preprocessing(size=32)
SIZES = {"wide": (64, 32), "tall": (32, 64), "square": (64, 64)}


def file_of(path: str) -> bytes:
    """A picture whose shape and red value are in its path, `wide/7`; or what is no picture."""
    shape, _, value = path.partition("/")
    if shape == "missing":
        raise FileNotFoundError(2, "No such file", path)
    if shape == "silent":
        raise TimeoutError
    return encode(flat((int(value), 0, 0), *SIZES[shape])) if shape in SIZES else b"no picture"


PATHS = [f"{('wide', 'tall', 'square', 'wide', 'broken', 'missing', 'silent')[row % 7]}/{row}" for row in range(50)]


def load(
    paths: list[str] = PATHS, read: Callable[[str], bytes] = file_of, batch_size: int = 4, workers: int = 2
) -> list[Batch | Refusal]:
    return list(load_batches(paths, read, [SMALL], batch_size=batch_size, workers=workers))


@pytest.mark.parametrize("batch_size", [1, 4, 1000])
def test_every_path_comes_once(batch_size: int) -> None:
    rows = [
        row for item in load(batch_size=batch_size) for row in (item.rows if isinstance(item, Batch) else [item.row])
    ]
    assert sorted(rows) == list(range(len(PATHS)))


def test_a_batch_holds_one_shape_and_its_rows_own_pixels() -> None:
    for batch in load():
        if isinstance(batch, Batch):
            assert batch.inputs[0].dtype == torch.uint8
            assert batch.inputs[0][:, 0, 0, 0].tolist() == list(batch.rows)
            (shape,) = {PATHS[row].partition("/")[0] for row in batch.rows}
            width, height = SIZES[shape]
            assert batch.inputs[0].shape == (len(batch.rows), height, width, 3)
            assert len(batch.rows) <= 4


def test_only_the_last_batch_of_a_shape_is_short() -> None:
    sizes = [len(batch.rows) for batch in load() if isinstance(batch, Batch) and batch.inputs[0].shape[2] == 32]
    assert sizes == [4, 3]


def test_refusals_say_why() -> None:
    refusals = {PATHS[item.row].partition("/")[0]: item.reason for item in load() if isinstance(item, Refusal)}
    assert refusals == {
        "broken": "not an image, or of an unknown type",
        "missing": "[Errno 2] No such file: 'missing/47'",
        "silent": "TimeoutError",
    }


def test_the_order_does_not_depend_on_workers_or_their_speed() -> None:
    def slow_at_first(path: str) -> bytes:
        time.sleep(0.02 if int(path.partition("/")[2]) % 5 == 0 else 0)
        return file_of(path)

    def told(items: list[Batch | Refusal]) -> list[object]:
        return [item.rows if isinstance(item, Batch) else item for item in items]

    assert told(load(workers=1)) == told(load(workers=8, read=slow_at_first)) == told(load(workers=0))


def test_reading_runs_ahead_only_so_far() -> None:
    lock, read, handed_out = threading.Lock(), 0, 0

    def counted(path: str) -> bytes:
        nonlocal read
        with lock:
            read += 1
        return file_of(path)

    paths = [f"wide/{row}" for row in range(200)]
    for batch in load_batches(paths, counted, [SMALL], batch_size=5, workers=4):
        assert isinstance(batch, Batch)
        handed_out += len(batch.rows)
        time.sleep(0.002)
        assert read <= handed_out + 2 * 5
    assert read == handed_out == 200


def test_reading_ends_with_the_consumer() -> None:
    read = []

    def noted(path: str) -> bytes:
        read.append(path)
        time.sleep(0.001)
        return file_of(path)

    batches = load_batches([f"wide/{row}" for row in range(200)], noted, [SMALL], batch_size=40, workers=1)
    next(batches)
    batches.close()
    assert len(read) < 60


def test_a_fault_of_the_program_is_no_refusal() -> None:
    def faulty(path: str) -> bytes:
        raise KeyError(path)

    with pytest.raises(KeyError):
        load(read=faulty)


def test_no_paths_give_nothing() -> None:
    assert load([]) == []


def test_the_name_says_nothing_about_the_type() -> None:
    (pixels_HWC,) = load_inputs("really-a-gif.jpg", lambda _: encode(flat("red", 64, 64), "gif"), [SMALL])
    assert (pixels_HWC == torch.tensor([255, 0, 0])).all()


def test_load_inputs_raises_what_is_wrong() -> None:
    with pytest.raises(UnreadableImage, match="empty file"):
        load_inputs("x.png", lambda _: b"", [SMALL])


def test_a_batch_has_pixels_of_one_shape_for_each_network() -> None:
    found = list(load_batches(["wide/1", "tall/2", "wide/3"], file_of, [SMALL, SMALLER], batch_size=2, workers=1))
    batches = [batch for batch in found if isinstance(batch, Batch)]
    assert sorted(batch.rows for batch in batches) == [(0, 2), (1,)]
    for batch in batches:
        large, small = batch.inputs
        assert len(large) == len(small) == len(batch.rows)
        assert max(large.shape[1:3]) == SMALL.size
        assert max(small.shape[1:3]) == SMALLER.size
