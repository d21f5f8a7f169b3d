"""How pictures look, coarsely: what tells that one is another's copy, recompressed, resized or trimmed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import faiss
import imagehash
import numpy as np
from PIL import Image

LEAST_SIDE = 64  # pixels of the longer side that a look is taken from
MOST_BITS = 6  # of 64 in which the perceptual hashes of two pictures that look the same may differ
MOST_COLOUR = 12.0  # grey levels by which their thumbnails may differ on average: the hash is blind to colour
THUMBNAIL = (8, 8)
BLOCK = 1024  # rows that are searched at a time
PIECE = 32  # rows of a block whose pairs are compared at a time: all pictures may look the same
CHUNK = 2**16  # pairs whose thumbnails are compared at a time


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
        for row in range(0, len(limits) - 1, PIECE):
            ends = limits[row : row + PIECE + 1].astype(np.int64)
            earlier = found[ends[0] : ends[-1]]
            later = np.repeat(np.arange(start + row, start + row + len(ends) - 1), np.diff(ends))
            pair_P2 = np.stack([earlier, later], 1)[earlier < later]
            yield from sorted(_first_of_groups(pair_P2, group_N, colour_NC), key=lambda pair: pair[::-1])


def _first_of_groups(pair_P2: np.ndarray, group_N: np.ndarray, colour_NC: np.ndarray) -> Iterator[tuple[int, int]]:
    """Of each later row and group the first pair of like colour; twice as many are compared in every round."""
    key_P = pair_P2[:, 1] * (group_N.max() + 1) + group_N[pair_P2[:, 0]]
    order = np.lexsort((pair_P2[:, 0], key_P))
    pair_P2, key_P = pair_P2[order], key_P[order]
    compared = 1
    while len(key_P):
        _, first, place_P = np.unique(key_P, return_index=True, return_inverse=True)
        rank_P = np.arange(len(key_P)) - first[place_P]
        rows = np.flatnonzero(rank_P < compared)
        like = rows[_like_colours(pair_P2[rows], colour_NC)]
        settled, first = np.unique(key_P[like], return_index=True)
        yield from map(tuple, pair_P2[like[first]].tolist())
        open_P = (rank_P >= compared) & ~np.isin(key_P, settled)
        pair_P2, key_P = pair_P2[open_P], key_P[open_P]
        compared *= 2


def _like_colours(pair_P2: np.ndarray, colour_NC: np.ndarray) -> np.ndarray:
    """Whether the thumbnails of each pair differ by no more than MOST_COLOUR."""
    like_P = np.empty(len(pair_P2), bool)
    for start in range(0, len(pair_P2), CHUNK):
        earlier_KC, later_KC = colour_NC[pair_P2[start : start + CHUNK].T].astype(np.int16)
        like_P[start : start + CHUNK] = np.abs(earlier_KC - later_KC).mean(1) <= MOST_COLOUR
    return like_P
