"""How pictures look, coarsely: what tells that one is another's copy, recompressed, resized or trimmed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import faiss
import imagehash
import numpy as np
from PIL import Image

LEAST_SIDE = 64  # pixels of the longer side that a look is taken from
MOST_BITS = 6  # of 64 in which the perceptual hashes of two pictures that look the same may differ
MOST_COLOUR = 12.0  # grey levels by which their thumbnails may differ on average: the hash is blind to colour
THUMBNAIL = (8, 8)
BLOCK = 1024  # rows that are searched at a time
CHUNK = 64  # earlier rows whose thumbnails are compared at a time: the first few settle it where all look the same


@dataclass(frozen=True)
class Look:
    """A perceptual hash of 64 bits, and a thumbnail of 8 x 8 x 3 bytes."""

    hash: bytes
    thumbnail: bytes


def look_of(image: Image.Image) -> Look:
    """The look of an RGB picture; a DCT hash as the library `imagehash` computes it."""
    bits = np.packbits(imagehash.phash(image).hash)
    return Look(bits.tobytes(), image.resize(THUMBNAIL, Image.Resampling.BOX).tobytes())


def alike(looks_N: Sequence[Look], groups_N: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs of rows (earlier, later) that look the same: of each later row the first earlier one of every group.

    Exact, in order of later and earlier row, and in memory that does not grow with the number of pairs.
    """
    if not looks_N:
        return
    hash_NB = np.frombuffer(b"".join(look.hash for look in looks_N), np.uint8).reshape(len(looks_N), -1)
    colour_NC = np.frombuffer(b"".join(look.thumbnail for look in looks_N), np.uint8).reshape(len(looks_N), -1)
    group_N = np.asarray(groups_N, np.int64)
    index = faiss.IndexBinaryFlat(8 * hash_NB.shape[1])
    index.add(hash_NB)
    for start in range(0, len(looks_N), BLOCK):
        limits, _, found = index.range_search(hash_NB[start : start + BLOCK], MOST_BITS + 1)
        for later, (begin, end) in enumerate(pairwise(limits.tolist()), start=start):
            earlier_E = np.sort(found[begin:end])
            for earlier in _first_alike(later, earlier_E[earlier_E < later], group_N, colour_NC):
                yield earlier, later


def _first_alike(later: int, earlier_E: np.ndarray, group_N: np.ndarray, colour_NC: np.ndarray) -> list[int]:
    """Of the earlier rows, which rise, the first of every group whose thumbnail is like the later row's."""
    first: dict[int, int] = {}
    groups = len(set(group_N[earlier_E].tolist()))
    for start in range(0, len(earlier_E), CHUNK):
        chunk_K = earlier_E[start : start + CHUNK]
        difference_K = np.abs(colour_NC[chunk_K].astype(np.int16) - colour_NC[later]).mean(1)
        for earlier in chunk_K[difference_K <= MOST_COLOUR].tolist():
            first.setdefault(int(group_N[earlier]), earlier)
        if len(first) == groups:
            break
    return sorted(first.values())
