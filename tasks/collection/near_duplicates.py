"""Finds near-duplicate images (recompressed, resized or slightly cropped copies) by small visual fingerprints."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import faiss
import imagehash
import numpy as np
from PIL import Image

FINGERPRINT_SIDE = 64  # minimum longer side, in pixels, of the image a fingerprint is computed from
MAX_BITS = 6  # of 64 that may differ between the perceptual hashes of near-duplicates
MAX_COLOUR_DIFFERENCE = 12.0  # mean grey levels between their thumbnails: the hash does not see colour
THUMBNAIL = (8, 8)
BLOCK = 1024  # rows searched at a time
CHUNK = 64  # earlier rows compared by thumbnail at a time: where all images are alike, the first few are enough


@dataclass(frozen=True)
class Fingerprint:
    """A perceptual hash of 64 bits, and a thumbnail of 8 x 8 x 3 bytes."""

    hash: bytes
    thumbnail: bytes


def fingerprint_of(image: Image.Image) -> Fingerprint:
    """Compute the fingerprint of an RGB image; the hash is the DCT hash of the library `imagehash`."""
    bits = np.packbits(imagehash.phash(image).hash)
    return Fingerprint(bits.tobytes(), image.resize(THUMBNAIL, Image.Resampling.BOX).tobytes())


def near_duplicate_pairs(fingerprints_N: Sequence[Fingerprint], groups_N: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield pairs of near-duplicate rows (earlier, later): for each later row, the first earlier one of every group.

    Exact, ordered by later and then earlier row, and memory does not grow with the number of pairs.
    """
    if not fingerprints_N:
        return
    hash_NB = np.frombuffer(b"".join(one.hash for one in fingerprints_N), np.uint8).reshape(len(fingerprints_N), -1)
    colour_NC = np.frombuffer(b"".join(one.thumbnail for one in fingerprints_N), np.uint8).reshape(len(hash_NB), -1)
    group_N = np.asarray(groups_N, np.int64)
    index = faiss.IndexBinaryFlat(8 * hash_NB.shape[1])
    index.add(hash_NB)
    for start in range(0, len(hash_NB), BLOCK):
        limits, _, found = index.range_search(hash_NB[start : start + BLOCK], MAX_BITS + 1)
        for later, (begin, end) in enumerate(pairwise(limits.tolist()), start=start):
            earlier_E = np.sort(found[begin:end])
            for earlier in _first_of_each_group(later, earlier_E[earlier_E < later], group_N, colour_NC):
                yield earlier, later


def _first_of_each_group(later: int, earlier_E: np.ndarray, group_N: np.ndarray, colour_NC: np.ndarray) -> list[int]:
    """Return, of the ascending earlier rows, the first of every group with a thumbnail like the later row's."""
    first: dict[int, int] = {}
    groups = len(set(group_N[earlier_E].tolist()))
    for start in range(0, len(earlier_E), CHUNK):
        chunk_K = earlier_E[start : start + CHUNK]
        difference_K = np.abs(colour_NC[chunk_K].astype(np.int16) - colour_NC[later]).mean(1)
        for earlier in chunk_K[difference_K <= MAX_COLOUR_DIFFERENCE].tolist():
            first.setdefault(int(group_N[earlier]), earlier)
        if len(first) == groups:
            break
    return sorted(first.values())
