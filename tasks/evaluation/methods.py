"""The methods that are compared: their names, the labels people read, and what kind each is."""

from collections.abc import Iterable
from typing import Literal

from tasks.model.methods import LABELS as TRAINED_LABELS

Kind = Literal["reference", "untrained", "trained", "captioned"]

# In the order of the paper's Table 2.
LABELS = {
    "captions": "captions tf-idf (oracle)",
    "random": "random",
    "baseline_gap": "visual baseline GAP",
    "baseline_gap_centred": "visual baseline GAP, centred",
    "baseline_rmac": "visual baseline R-MAC",
    "baseline_rmac_pca": "visual baseline R-MAC + PCA",
    "wsabie": TRAINED_LABELS["wsabie"],
    "v_v": TRAINED_LABELS["v_v"],
    "vt_v": TRAINED_LABELS["vt_v"],
    "vt_vt": "(V+T,V+T)",
    "regression": TRAINED_LABELS["regression"],
}


def method_kind(name: str) -> Kind:
    """Whether a method bounds the scale (random, captions), is an untrained baseline, or was trained.

    `captioned` is a trained model whose queries hold their captions too: never compared as a model of its own.
    """
    if name in {"random", "captions"}:
        return "reference"
    if name == "vt_vt":
        return "captioned"
    return "untrained" if name.startswith("baseline_") else "trained"


def in_paper_order(names: Iterable[str]) -> list[str]:
    """The methods as Table 2 of the paper lists them, others last."""
    place = {name: number for number, name in enumerate(LABELS)}
    return sorted(names, key=lambda name: place.get(name, len(place)))
