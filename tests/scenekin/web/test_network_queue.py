import asyncio
import threading
from collections.abc import Sequence

import pytest

from scenekin.web.network_queue import Busy, NetworkQueue


def test_jobs_run_in_order_and_equal_work_in_batches() -> None:
    batches: list[tuple[str, list[int]]] = []
    started, go = threading.Event(), threading.Event()

    def double(items: Sequence[int]) -> Sequence[int]:
        batches.append(("double", [*items]))
        return [2 * item for item in items]

    def single(items: Sequence[int]) -> Sequence[int]:
        batches.append(("single", [*items]))
        started.set()
        assert go.wait(10)
        return items

    async def run() -> list[int]:
        queue = NetworkQueue(batch=3)
        first = asyncio.create_task(queue.run(single, 0))
        assert await asyncio.to_thread(started.wait, 10)
        others = [
            asyncio.create_task(queue.run(work, n)) for n, work in enumerate([double] * 2 + [single] + [double] * 3)
        ]
        await asyncio.sleep(0)
        go.set()
        return await asyncio.gather(first, *others)

    assert asyncio.run(run()) == [0, 0, 2, 2, 6, 8, 10]
    assert batches == [("single", [0]), ("double", [0, 1, 3]), ("single", [2]), ("double", [4, 5])]


def test_a_cancelled_job_is_dropped() -> None:
    done: list[int] = []
    started, go = threading.Event(), threading.Event()

    def work(items: Sequence[int]) -> Sequence[int]:
        started.set()
        assert go.wait(10)
        done.extend(items)
        return items

    async def run() -> None:
        queue = NetworkQueue()
        first = asyncio.create_task(queue.run(work, 1))
        assert await asyncio.to_thread(started.wait, 10)
        left, stays = (asyncio.create_task(queue.run(work, number)) for number in (2, 3))
        await asyncio.sleep(0)
        left.cancel()
        await asyncio.sleep(0)
        go.set()
        assert [await first, await stays] == [1, 3]

    asyncio.run(run())
    assert done == [1, 3]


def test_an_error_belongs_to_its_batch() -> None:
    def fail(_: Sequence[int]) -> Sequence[int]:
        raise ValueError("broken")

    async def run() -> None:
        queue = NetworkQueue()
        with pytest.raises(ValueError, match="broken"):
            await queue.run(fail, 1)
        assert await queue.run(lambda items: items, 2) == 2

    asyncio.run(run())


def test_a_full_queue_is_busy() -> None:
    queue = NetworkQueue(places=2)
    with queue.place(), queue.place(), pytest.raises(Busy) as busy:
        queue.place().__enter__()
    assert busy.value.status_code == 503
    assert busy.value.headers == {"retry-after": "2"}
    with queue.place():
        pass
