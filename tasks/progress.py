"""Progress of long work on standard error: a bar on a terminal, plain lines elsewhere."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

LINE_SECONDS = 10.0  # between plain lines


@dataclass
class Steps:
    """The steps of one piece of work; call it with the number of steps just done."""

    label: str
    total: int
    bar: Progress | None = None
    task: TaskID | None = None
    quiet: bool = False
    done: int = 0
    stopped: str | None = None
    _first: tuple[float, int] | None = None  # time and steps of the first call

    def __post_init__(self) -> None:
        self.started = self._printed = monotonic()

    def __call__(self, steps: int) -> None:
        """Count steps, and show them: the bar moves, or a line is printed every 10 seconds."""
        now = monotonic()
        self.done += steps
        self._first = self._first or (now, self.done)
        if self.bar is not None and self.task is not None:
            self.bar.advance(self.task, steps)
        elif now - self._printed > LINE_SECONDS:
            self._printed = now
            self._print(f"{self.label}: {self.done:,} of {self.total:,}{self._time_left(now)}")

    def stop_early(self, reason: str) -> None:
        """Say that the remaining steps are not needed, and why."""
        self.stopped = reason

    def close(self) -> None:
        """Complete the bar, or print the last line."""
        seconds = monotonic() - self.started
        if self.bar is not None and self.task is not None:
            self.bar.update(self.task, total=self.done, completed=self.done)
        elif self.stopped is None and self.done:
            self._print(f"{self.label}: {self.done:,} in {seconds:.1f} s")
        if self.stopped is not None:
            line = f"{self.label} stopped early at {self.done:,} of {self.total:,}: {self.stopped}"
            if self.bar is not None:
                self.bar.console.print(line, markup=False, highlight=False)
            else:
                self._print(f"{line} ({seconds:.1f} s)")

    def _print(self, line: str) -> None:
        if not self.quiet:
            print(line, file=sys.stderr, flush=True)

    def _time_left(self, now: float) -> str:
        """Estimate from the steps after the first call, which may count work that was done before."""
        assert self._first is not None
        seconds, steps = now - self._first[0], self.done - self._first[1]
        return f", {duration(seconds / steps * (self.total - self.done))} left" if steps > 0 else ""


def duration(seconds: float) -> str:
    """Return a duration in the unit that people would use."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def progress(label: str, total: int) -> Iterator[Steps]:
    """Show the progress of `total` steps; yields the function to call as they are done.

    Nothing is shown if the logger `scenekin` hides warnings.
    """
    quiet = not logging.getLogger("scenekin").isEnabledFor(logging.WARNING)
    if quiet or not sys.stderr.isatty():
        steps = Steps(label, total, quiet=quiet)
        yield steps
        steps.close()
        return
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        steps = Steps(label, total, bar, bar.add_task(label, total=total))
        yield steps
        steps.close()
