"""Ctrl-C and termination: end in an orderly way, and soon, even if a library does not return."""

import logging
import os
import signal
import sys
import threading
from types import FrameType

GRACE_SECONDS = 10.0


def end_soon_on_interrupt() -> None:
    """Raise KeyboardInterrupt on SIGINT and SIGTERM, so that runs and locks are closed; after a while exit anyway.

    A library may catch the exception, or wait in native code or for a worker process.
    """

    def handle(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)
        logging.disable(logging.CRITICAL)
        watchdog = threading.Timer(GRACE_SECONDS, _exit, (128 + number,))
        watchdog.daemon = True
        watchdog.start()
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


def _exit(code: int) -> None:
    import psutil  # noqa: PLC0415

    for child in psutil.Process().children(recursive=True):
        child.terminate()
    print("scenekin: Stopped.", file=sys.stderr, flush=True)
    os._exit(code)
