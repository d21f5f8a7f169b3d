import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from scenekin.web.thumbnails import ByteCache


def never() -> bytes:
    pytest.fail("the entry was not cached")


def test_an_entry_is_made_once() -> None:
    cache = ByteCache()
    assert cache.get("a", lambda: b"1") == b"1"
    assert cache.get("a", never) == b"1"


def test_the_least_recently_used_entries_are_dropped_over_the_limit() -> None:
    cache = ByteCache(limit=10)
    for key in ("a", "b"):
        cache.get(key, lambda: b"12345")
    cache.get("a", never)
    cache.get("c", lambda: b"12345")
    assert cache.size == 10
    assert cache.get("a", never) == b"12345"
    assert cache.get("b", lambda: b"new") == b"new"


def test_an_entry_over_the_limit_is_not_kept() -> None:
    cache = ByteCache(limit=3)
    assert cache.get("a", lambda: b"12345") == b"12345"
    assert cache.size == 0
    assert cache.get("a", lambda: b"6") == b"6"


def test_concurrent_requests_of_a_key_share_one_entry() -> None:
    cache, made, go = ByteCache(), 0, threading.Event()

    def make() -> bytes:
        nonlocal made
        made += 1
        assert go.wait(10)
        return b"1"

    with ThreadPoolExecutor(4) as pool:
        entries = [pool.submit(cache.get, "a", make) for _ in range(4)]
        go.set()
        assert [entry.result() for entry in entries] == [b"1"] * 4
    assert made == 1


def test_a_failure_is_not_cached() -> None:
    cache = ByteCache()
    with pytest.raises(ZeroDivisionError):
        cache.get("a", lambda: bytes(1 // 0))
    assert cache.get("a", lambda: b"1") == b"1"
