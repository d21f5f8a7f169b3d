"""A seeded split that belongs to the picture's bytes, whatever else the collection holds."""

import hashlib

from tasks.collection.config import CollectionConfig
from tasks.collection.records import Split


def draw_split(sha256: str, config: CollectionConfig) -> Split:
    """The split of the picture with this digest (METHOD.md 1).

    It depends on nothing else: no image changes side because others came, and byte copies share a side.
    """
    digest = hashlib.sha256(f"{config.split_seed} {sha256}".encode()).digest()
    draw = int.from_bytes(digest[:8]) / 2**64
    if draw < config.test_fraction:
        return "test"
    return "validation" if draw < config.test_fraction + config.validation_fraction else "train"
