from pathlib import Path

import pytest

from storage.faults import FaultPoint, inject, reach


def test_an_action_runs_at_its_point_while_it_is_injected(tmp_path: Path) -> None:
    reached: list[Path] = []
    reach(FaultPoint.RUN_ENDED, tmp_path)
    with inject(FaultPoint.RUN_ENDED, reached.append):
        reach(FaultPoint.MODEL_KEPT, tmp_path)
        assert reached == []
        reach(FaultPoint.RUN_ENDED, tmp_path)
        assert reached == [tmp_path]
    reach(FaultPoint.RUN_ENDED, tmp_path)
    assert reached == [tmp_path]


def test_the_error_of_an_action_passes_through_and_ends_it(tmp_path: Path) -> None:
    def fail(_: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"), inject(FaultPoint.RUN_ENDED, fail):
        reach(FaultPoint.RUN_ENDED, tmp_path)
    reach(FaultPoint.RUN_ENDED, tmp_path)
