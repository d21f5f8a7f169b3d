import pytest

from scenekin.web.thumbnails import Cache


def never() -> bytes:
    pytest.fail("it was kept")


def test_what_was_made_is_kept() -> None:
    cache = Cache()
    assert cache.get("a", lambda: b"1") == b"1"
    assert cache.get("a", never) == b"1"


def test_the_longest_unused_go_first_and_the_bound_holds() -> None:
    cache = Cache(limit=10)
    for key in ("a", "b"):
        cache.get(key, lambda: b"12345")
    cache.get("a", never)
    cache.get("c", lambda: b"12345")
    assert cache.size == 10
    assert cache.get("a", never) == b"12345"
    assert cache.get("b", lambda: b"new") == b"new"


def test_what_is_larger_than_the_bound_is_not_kept() -> None:
    cache = Cache(limit=3)
    assert cache.get("a", lambda: b"12345") == b"12345"
    assert cache.size == 0
    assert cache.get("a", lambda: b"6") == b"6"
