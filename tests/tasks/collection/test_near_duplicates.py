import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.collection import near_duplicates
from tasks.collection.near_duplicates import (
    MAX_BITS,
    MAX_COLOUR_DIFFERENCE,
    Fingerprint,
    fingerprint_of,
    near_duplicate_pairs,
)
from tasks.images.decode import decode
from tests.tasks.images.making import flat, photograph, variants


def difference(one: Fingerprint, other: Fingerprint) -> tuple[int, float]:
    """Bits of the hashes and grey levels of the thumbnails in which two fingerprints differ."""
    bits = np.unpackbits(np.frombuffer(one.hash, np.uint8) ^ np.frombuffer(other.hash, np.uint8)).sum()
    colours = [np.frombuffer(fingerprint.thumbnail, np.uint8).astype(float) for fingerprint in (one, other)]
    return int(bits), float(np.abs(colours[0] - colours[1]).mean())


hashes = st.integers(0, 2**12 - 1).map(lambda bits: (bits * 0x1001001001001).to_bytes(8, "big", signed=False))
fingerprints = st.builds(Fingerprint, hashes, st.sampled_from([bytes(192), bytes([11] * 192), bytes([13] * 192)]))


@given(st.lists(st.tuples(fingerprints, st.integers(0, 3)), max_size=20))
def test_alike_is_the_first_of_each_group_within_the_limits(given: list[tuple[Fingerprint, int]]) -> None:
    expected = []
    for later, (fingerprint, _) in enumerate(given):
        groups = set()
        for earlier, (other, group) in enumerate(given[:later]):
            bits, colour = difference(other, fingerprint)
            if bits <= MAX_BITS and colour <= MAX_COLOUR_DIFFERENCE and group not in groups:
                expected.append((earlier, later))
                groups.add(group)
    assert (
        list(near_duplicate_pairs([fingerprint for fingerprint, _ in given], [group for _, group in given])) == expected
    )


def test_rows_beyond_one_block() -> None:
    rng = np.random.default_rng(0)
    many = [Fingerprint(rng.bytes(8), bytes(192)) for _ in range(5000)]
    assert list(near_duplicate_pairs([*many, many[3], many[4500]], [0] * 5002)) == [(3, 5000), (4500, 5001)]


def test_thousands_that_all_look_the_same_take_little_memory() -> None:
    tracemalloc.start()
    assert len(list(near_duplicate_pairs([Fingerprint(bytes(8), bytes(192))] * 4000, [0, 1] * 2000))) == 3999 + 3998
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**30


def test_variants_of_a_picture_look_alike_and_other_pictures_do_not() -> None:
    fingerprints = [fingerprint_of(decode(data)) for seed in range(5) for data in variants(photograph(seed=seed))]
    expected = [(a, b) for b in range(20) for a in range(b) if a // 4 == b // 4]
    assert list(near_duplicate_pairs(fingerprints, range(20))) == expected


def test_colour_alone_tells_pictures_apart() -> None:
    assert list(
        near_duplicate_pairs([fingerprint_of(flat(colour)) for colour in ("red", "green", "red")], [0, 0, 0])
    ) == [(0, 2)]


@pytest.mark.parametrize("thumbnail", ["equal", "different"])
def test_the_work_grows_linearly_however_many_look_alike(thumbnail: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    base = rng.integers(0, 256, 8, dtype=np.uint8)

    def variant() -> Fingerprint:
        bits = np.unpackbits(base)
        bits[rng.integers(0, 64, 2)] ^= 1
        colours = bytes(192) if thumbnail == "equal" else rng.bytes(192)
        return Fingerprint(np.packbits(bits).tobytes(), colours)

    pairs = 0
    compare = near_duplicates._compare

    def counting(at_X: np.ndarray, *others: np.ndarray) -> None:
        nonlocal pairs
        pairs += len(at_X)
        compare(at_X, *others)

    monkeypatch.setattr(near_duplicates, "_compare", counting)
    work = []
    for count in (2000, 6000):
        pairs = 0
        list(near_duplicate_pairs([variant() for _ in range(count)], [0] * count))
        work.append(pairs / count)
    assert work[1] < 1.5 * work[0]
