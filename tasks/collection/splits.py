"""A seeded split that depends on an image's bytes alone, not on the rest of the collection."""

import hashlib

from tasks.collection.config import CollectionConfig
from tasks.collection.records import Split

LEARN_FROM, EVALUATE_ON = 8, 4  # captioned images at least (METHOD.md 2); fewer give no ranking to judge


def draw_split(sha256: str, config: CollectionConfig) -> Split:
    """Return the split of the image with this digest (METHOD.md 1).

    Images keep their split when others are added, and identical files share one.
    """
    digest = hashlib.sha256(f"{config.split_seed} {sha256}".encode()).digest()
    draw = int.from_bytes(digest[:8]) / 2**64
    if draw < config.test_fraction:
        return "test"
    return "validation" if draw < config.test_fraction + config.validation_fraction else "train"
