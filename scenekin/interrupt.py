"""What Ctrl-C and termination do: end in order, and end soon, even where a library waits for something that is gone."""

import logging
import os
import signal
import sys
import threading
from types import FrameType

GRACE_SECONDS = 10.0


def end_soon_on_interrupt() -> None:
    """On SIGINT and SIGTERM raise KeyboardInterrupt, so that runs and locks are closed; end anyway after a while.

    A terminal sends its signal to Prefect's ephemeral server too, and without a server Prefect tries for minutes to
    report the end of the flow.
    """

    def handle(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)
        logging.disable(logging.CRITICAL)
        watchdog = threading.Timer(GRACE_SECONDS, _end, (128 + number,))
        watchdog.daemon = True
        watchdog.start()
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


def _end(code: int) -> None:
    import psutil  # noqa: PLC0415

    for child in psutil.Process().children(recursive=True):
        child.terminate()
    print("scenekin: Stopped.", file=sys.stderr, flush=True)
    os._exit(code)
