import signal
import subprocess
import sys
import time

import psutil
import pytest

READY = "ready"
ORDERLY = f"""
import time
from scenekin.interrupt import end_soon_on_interrupt
end_soon_on_interrupt()
try:
    print("{READY}", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("closed")
"""
STUCK = f"""
import subprocess, sys, time
from scenekin import interrupt
interrupt.GRACE_SECONDS = 0.3
interrupt.end_soon_on_interrupt()
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
line = "{READY} %d" % child.pid
while True:
    try:
        print(line, flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        line = "waiting"
"""


def interrupted(script: str, number: int) -> tuple[int, str, str]:
    """Exit code, output and error output of a script that is sent a signal when it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    ready = process.stdout.readline()
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    return process.returncode, ready + out, err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_open_is_closed(number: int) -> None:
    assert interrupted(ORDERLY, number) == (0, f"{READY}\nclosed\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_hangs_is_ended_with_its_children(number: int) -> None:
    code, out, err = interrupted(STUCK, number)
    assert (code, err) == (128 + number, "scenekin: Stopped.\n")
    assert ends(int(out.split()[1]))


def ends(process: int) -> bool:
    """Whether it does, soon."""
    for _ in range(100):
        if not psutil.pid_exists(process) or psutil.Process(process).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False
