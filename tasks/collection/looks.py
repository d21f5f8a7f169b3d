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
BLOCK = 4096


@dataclass(frozen=True)
class Look:
    """A perceptual hash of 64 bits, and a thumbnail of 8 x 8 x 3 bytes."""

    hash: bytes
    thumbnail: bytes


def look_of(image: Image.Image) -> Look:
    """The look of an RGB picture; a DCT hash as the library `imagehash` computes it."""
    bits = np.packbits(imagehash.phash(image).hash)
    return Look(bits.tobytes(), image.resize(THUMBNAIL, Image.Resampling.BOX).tobytes())


def alike(looks_N: Sequence[Look]) -> Iterator[tuple[int, int]]:
    """Every pair of rows (earlier, later) that look the same, by later row; exact, in blocks of rows."""
    if not looks_N:
        return
    hash_NB = np.frombuffer(b"".join(look.hash for look in looks_N), np.uint8).reshape(len(looks_N), -1)
    colour_NC = np.frombuffer(b"".join(look.thumbnail for look in looks_N), np.uint8).reshape(len(looks_N), -1)
    index = faiss.IndexBinaryFlat(8 * hash_NB.shape[1])
    index.add(hash_NB)
    for start in range(0, len(looks_N), BLOCK):
        limits, _, found = index.range_search(hash_NB[start : start + BLOCK], MOST_BITS + 1)
        ends = limits.astype(np.int64)
        later = np.repeat(np.arange(start, start + len(ends) - 1), ends[1:] - ends[:-1])
        earlier, later = found[found < later], later[found < later]
        difference_P = np.abs(colour_NC[earlier].astype(np.int16) - colour_NC[later]).mean(1)
        rows = np.flatnonzero(difference_P <= MOST_COLOUR)
        for row in rows[np.lexsort((earlier[rows], later[rows]))]:
            yield int(earlier[row]), int(later[row])
