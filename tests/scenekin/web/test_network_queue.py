import asyncio
import threading
from collections.abc import Callable

import pytest

from scenekin.web.network_queue import Busy, NetworkQueue


def test_work_is_done_in_order_and_dropped_if_cancelled() -> None:
    done: list[int] = []
    started, go = threading.Event(), threading.Event()

    def work(number: int) -> Callable[[], int]:
        def run() -> int:
            started.set()
            assert go.wait(10)
            done.append(number)
            return -number

        return run

    async def run() -> None:
        queue = NetworkQueue()
        first = asyncio.create_task(queue.run(work(1)))
        assert await asyncio.to_thread(started.wait, 10)
        left, *stay = (asyncio.create_task(queue.run(work(number))) for number in (2, 3, 4))
        await asyncio.sleep(0)
        left.cancel()
        await asyncio.sleep(0)
        go.set()
        assert await asyncio.gather(first, *stay) == [-1, -3, -4]

    asyncio.run(run())
    assert done == [1, 3, 4]


def test_an_error_belongs_to_its_request() -> None:
    def fail() -> int:
        raise ValueError("broken")

    async def run() -> None:
        queue = NetworkQueue()
        with pytest.raises(ValueError, match="broken"):
            await queue.run(fail)
        assert await queue.run(lambda: 2) == 2

    asyncio.run(run())


def test_a_full_queue_is_busy() -> None:
    queue = NetworkQueue(places=2)
    with queue.place(), queue.place(), pytest.raises(Busy) as busy:
        queue.place().__enter__()
    assert busy.value.status_code == 503
    assert busy.value.headers == {"retry-after": "2"}
    with queue.place():
        pass
