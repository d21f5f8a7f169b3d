from pathlib import Path

import numpy as np
import pytest

from tasks.captions.vocabulary import build_vocabulary
from tasks.model.saving import save
from tasks.model.text_model import save_text
from tests.tasks.model.making import tiny_model


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_an_error_of_the_operating_system(tmp_path: Path) -> None:
    """safetensors would raise an error of its own, which no command turns into a sentence."""
    for name in ("model.safetensors", "text.safetensors"):
        (tmp_path / name).symlink_to("/dev/full")
    for write in (
        lambda: save(tiny_model(), build_vocabulary([["a dog"]], "english"), tmp_path),
        lambda: save_text(np.zeros((3, 2)), tmp_path),
    ):
        with pytest.raises(OSError, match="No space left"):
            write()
