"""The compared methods: their names, labels and kinds."""

from collections.abc import Iterable
from typing import Literal

from tasks.model.methods import LABELS as TRAINED_LABELS

Kind = Literal["reference", "untrained", "features", "trained", "captioned"]

# In the order of the paper's Table 2.
LABELS = {
    "captions": "captions tf-idf (oracle)",
    "random": "random",
    "baseline_gap": "GAP",
    "baseline_gap_centred": "centred GAP",
    "baseline_blocks_centred": "centred blocks",
    "baseline_rmac": "R-MAC",
    "baseline_rmac_pca": "R-MAC + PCA",
    "baseline_rmac_mean_white": "R-MAC of means + PCA",
    "untrained": TRAINED_LABELS["untrained"],
    "wsabie": TRAINED_LABELS["wsabie"],
    "v_v": TRAINED_LABELS["v_v"],
    "vt_v": TRAINED_LABELS["vt_v"],
    "vt_vt": "(V+T,V+T)",
    "regression": TRAINED_LABELS["regression"],
    "finetuned": TRAINED_LABELS["finetuned"],
    "joined": TRAINED_LABELS["joined"],
}


def method_kind(name: str) -> Kind:
    """Return the kind of a method.

    `reference` methods (random, captions) bound the scale. `features` is the candidate `untrained`, one of the
    untrained baselines as a model. `captioned` is a trained model queried with an image and its captions: it is never
    compared as a model of its own.
    """
    if name in {"random", "captions"}:
        return "reference"
    if name == "vt_vt":
        return "captioned"
    if name == "untrained":
        return "features"
    return "untrained" if name.startswith("baseline_") else "trained"


def in_paper_order(names: Iterable[str]) -> list[str]:
    """Sort methods as in Table 2 of the paper, unknown ones last."""
    place = {name: number for number, name in enumerate(LABELS)}
    return sorted(names, key=lambda name: place.get(name, len(place)))
