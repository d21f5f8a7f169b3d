"""Finds near-duplicate images (recompressed, resized or slightly cropped copies) by small visual fingerprints."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import imagehash
import numpy as np
from PIL import Image

FINGERPRINT_SIDE = 64  # minimum longer side, in pixels, of the image a fingerprint is computed from
MAX_BITS = 6  # of 64 that may differ between the perceptual hashes of near-duplicates
MAX_COLOUR_DIFFERENCE = 12.0  # mean grey levels between their thumbnails: the hash does not see colour
THUMBNAIL = (8, 8)
BLOCK = 1024  # rows searched at a time
CHUNK = 2**14  # pairs compared by thumbnail at a time
MAX_COMPARED = 256  # earlier rows of a group that are compared by thumbnail with one row
SEGMENTS, BITS = 4, 16  # of a hash
MASK_M = np.array([0, *(2**bit for bit in range(BITS))], np.uint64)  # segments that differ in at most one bit


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

    Ordered by later and then earlier row. Time is nearly linear in the number of rows, and memory does not grow with
    the number of pairs. Exact, unless more than MAX_COMPARED earlier rows of a group have a similar hash but not one
    of them has a similar thumbnail.
    """
    if not fingerprints_N:
        return
    hash_N = np.frombuffer(b"".join(one.hash for one in fingerprints_N), np.uint64)
    colour_NC = np.frombuffer(b"".join(one.thumbnail for one in fingerprints_N), np.uint8).reshape(len(hash_N), -1)
    group_N = np.asarray(groups_N, np.int64)
    indexes = [_HashIndex(np.flatnonzero(group_N == group), hash_N) for group in np.unique(group_N)]
    for start in range(0, len(hash_N), BLOCK):
        later_B = np.arange(start, min(start + BLOCK, len(hash_N)))
        first_GB = [_first_similar(later_B, index, hash_N, colour_NC) for index in indexes]
        for later, earlier_G in zip(later_B.tolist(), np.sort(np.stack(first_GB, axis=1)).tolist(), strict=True):
            yield from ((earlier, later) for earlier in earlier_G if earlier < len(hash_N))


class _HashIndex:
    """Ascending rows by each 16-bit segment of their hashes.

    Hashes that differ in at most 6 of 64 bits differ in at most one bit of one of their four segments.
    """

    def __init__(self, row_G: np.ndarray, hash_N: np.ndarray) -> None:
        self.row_SG = np.empty((SEGMENTS, len(row_G)), np.int64)
        self.start_SV = np.empty((SEGMENTS, 2**BITS + 1), np.int64)
        for segment in range(SEGMENTS):
            value_G = _segment(hash_N[row_G], segment)
            self.row_SG[segment] = row_G[np.argsort(value_G, kind="stable")]
            self.start_SV[segment] = np.searchsorted(np.sort(value_G), np.arange(2**BITS + 1))


def _segment(hash_N: np.ndarray, segment: int) -> np.ndarray:
    return (hash_N >> np.uint64(BITS * segment)).astype(np.uint64) & np.uint64(2**BITS - 1)


def _first_similar(later_B: np.ndarray, index: _HashIndex, hash_N: np.ndarray, colour_NC: np.ndarray) -> np.ndarray:
    """Return, for each later row, the first earlier row of the index that is similar, or N if there is none.

    Each bucket that may contain one is read in ascending order, a few rows of all buckets at a time.
    """
    first_B = np.full(len(later_B), len(hash_N))
    compared_B = np.zeros(len(later_B), np.int64)
    offsets = np.arange(SEGMENTS)[:, None] * index.row_SG.shape[1]
    value_BSM = np.stack([_segment(hash_N[later_B], segment) for segment in range(SEGMENTS)], 1)[:, :, None] ^ MASK_M
    bucket_BSM = value_BSM.astype(np.int64)
    place_BP = (index.start_SV[np.arange(SEGMENTS)[:, None], bucket_BSM] + offsets).reshape(len(later_B), -1)
    end_BP = (index.start_SV[np.arange(SEGMENTS)[:, None], bucket_BSM + 1] + offsets).reshape(len(later_B), -1)
    rows = np.append(index.row_SG.reshape(-1), len(hash_N))
    active_A = np.arange(len(later_B))
    size = 2
    while len(active_A):
        place_AP, end_AP = place_BP[active_A], end_BP[active_A]
        taken_APK = place_AP[:, :, None] + np.arange(size)
        row_APK = rows[np.where(taken_APK < end_AP[:, :, None], taken_APK, -1)]
        at_A, *_ = found = np.nonzero(row_APK < later_B[active_A][:, None, None])
        _compare(active_A[at_A], row_APK[found], later_B, hash_N, colour_NC, first_B, compared_B)
        place_BP[active_A] = np.minimum(place_AP + size, end_AP)
        next_A = rows[np.where(place_BP[active_A] < end_AP, place_BP[active_A], -1)].min(1)
        unread_A = next_A < np.minimum(later_B[active_A], first_B[active_A])
        active_A = active_A[unread_A & (compared_B[active_A] < MAX_COMPARED)]
        size = min(2 * size, MAX_COMPARED)
    return first_B


def _compare(
    at_X: np.ndarray,
    row_X: np.ndarray,
    later_B: np.ndarray,
    hash_N: np.ndarray,
    colour_NC: np.ndarray,
    first_B: np.ndarray,
    compared_B: np.ndarray,
) -> None:
    """Lower `first_B` to the similar rows among pairs of a place in `later_B` and a row, and count comparisons."""
    near_X = (np.bitwise_count(hash_N[later_B[at_X]] ^ hash_N[row_X]) <= MAX_BITS) & (row_X < first_B[at_X])
    at_X, row_X = at_X[near_X], row_X[near_X]
    pairs = np.unique(at_X * len(hash_N) + row_X)  # a row may be in several buckets
    at_X, row_X = np.divmod(pairs, len(hash_N))
    np.add.at(compared_B, at_X, 1)
    for start in range(0, len(pairs), CHUNK):
        at_K, row_K = at_X[start : start + CHUNK], row_X[start : start + CHUNK]
        difference_K = np.abs(colour_NC[row_K].astype(np.int16) - colour_NC[later_B[at_K]]).mean(1)
        similar_K = difference_K <= MAX_COLOUR_DIFFERENCE
        np.minimum.at(first_B, at_K[similar_K], row_K[similar_K])
