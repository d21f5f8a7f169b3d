import io
import sys

import pytest

from tasks import progress as module
from tasks.progress import duration, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still until a test moves it."""
    now = [100.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    return now


def test_lines_say_how_far_the_work_is_and_how_long_it_still_takes(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("(V,V)", 40) as on_step:
        for _ in range(10):
            clock[0] += 6
            on_step(1)
        on_step(30)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "(V,V): 2 of 40, 4 min left"
    assert lines[-2] == "(V,V): 10 of 40, 3 min left"
    assert lines[-1] == "(V,V): 40 in 60.0 s"


def test_work_that_was_done_before_does_not_count_as_fast(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """A resumed training counts its earlier refreshes at once."""
    with progress("(V,V)", 40) as on_step:
        on_step(30)
        clock[0] += 12
        on_step(1)
    assert capsys.readouterr().err.splitlines()[0] == "(V,V): 31 of 40, 2 min left"


def test_work_that_stops_early_says_why(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with progress("(V,V)", 40) as on_step:
        clock[0] += 5
        on_step(9)
        on_step.stop_early("no improvement for 8 refreshes")
    assert capsys.readouterr().err == "(V,V) stopped early at 9 of 40: no improvement for 8 refreshes (5.0 s)\n"


def test_on_a_terminal_the_bar_is_completed_when_work_stops_early(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress("(V,V) [dim]", 40) as on_step:
        on_step(9)
        on_step.stop_early("no improvement for 8 refreshes")
    assert on_step.bar is not None
    assert on_step.bar.finished
    shown = terminal.getvalue()
    assert "9/9" in shown
    assert "(V,V) [dim] stopped early at 9 of 40: no improvement for 8 refreshes" in shown


def test_work_that_fails_is_not_called_done(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), progress("(V,V)", 40) as on_step:
        on_step(1 // 0)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("seconds", "text"), [(0, "0 s"), (89, "89 s"), (91, "2 min"), (5400, "1.5 h")])
def test_durations_have_the_unit_that_people_use(seconds: float, text: str) -> None:
    assert duration(seconds) == text
