"""The shared data and cases, where SCENEKIN_SHARED says that they are."""

import os
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("SCENEKIN_SHARED", "no-shared-data"))
DATA = ROOT / "data"

with_shared = pytest.mark.skipif(not DATA.is_dir(), reason="SCENEKIN_SHARED names no shared data")


def case(number: str) -> Path:
    """The input folder of a case."""
    (folder,) = (ROOT / "cases").glob(f"{number}-*")
    return folder / "input"
