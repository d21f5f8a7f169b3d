"""Progress of long work on standard error: a bar on a terminal, plain lines elsewhere."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

LINE_SECONDS = 10.0


@contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the number of further steps done. Quiet if the logger `scenekin` hides warnings."""
    if not logging.getLogger("scenekin").isEnabledFor(logging.WARNING):
        yield lambda _: None
        return
    if sys.stderr.isatty():
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(label, total=total)
            yield lambda step: bar.advance(task, step)
        return
    started = told = time.monotonic()
    done = 0

    def on_step(step: int) -> None:
        nonlocal told, done
        done += step
        if time.monotonic() - told > LINE_SECONDS:
            told = time.monotonic()
            print(f"{label}: {done:,} of {total:,}", file=sys.stderr, flush=True)

    yield on_step
    print(f"{label}: {done:,} in {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
