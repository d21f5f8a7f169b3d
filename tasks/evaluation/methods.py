"""The methods that are compared: their names, the labels people read, and what kind each is."""

from typing import Literal

Kind = Literal["reference", "untrained", "trained"]

LABELS = {
    "random": "random",
    "captions": "captions tf-idf (oracle)",
    "baseline_gap": "visual baseline GAP",
    "baseline_gap_centred": "visual baseline GAP, centred",
    "baseline_rmac": "visual baseline R-MAC",
    "baseline_rmac_pca": "visual baseline R-MAC + PCA",
    "v_v": "(V,V)",
    "vt_v": "(V+T,V)",
    "vt_vt": "(V+T,V+T)",
    "wsabie": "WSABIE (V+T,V)",
    "regression": "regression",
}


def method_kind(name: str) -> Kind:
    """Whether a method bounds the scale (random, captions), is an untrained baseline, or was trained."""
    if name in {"random", "captions"}:
        return "reference"
    return "untrained" if name.startswith("baseline_") else "trained"
