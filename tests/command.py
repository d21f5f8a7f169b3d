"""The `scenekin` command as tests run it: in this process for speed, or as people do."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

SCENEKIN = Path(sys.executable).with_name("scenekin")


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> dict[str, Any]:
        """The one JSON object on standard output of a command that succeeded."""
        assert self.code == 0, self.err
        answer: dict[str, Any] = json.loads(self.out)
        return answer

    @property
    def usage_error(self) -> str:
        """What a command said that was called in a wrong way, without the frame that it is printed in."""
        assert self.code == 2, (self.code, self.err)
        assert self.out == ""
        return " ".join(self.err.translate(dict.fromkeys(map(ord, "╭─╮│╰╯"))).split())

    @property
    def sentence(self) -> str:
        """The one sentence that a command ended with that could not do its work; it told nothing else but progress."""
        assert self.code == 1, (self.code, self.err)
        assert self.out == ""
        assert "Traceback" not in self.err
        (sentence,) = (line for line in self.err.splitlines() if line.startswith("scenekin: "))
        assert self.err.endswith(f"{sentence}\n")
        return sentence


def scenekin(*arguments: object) -> Outcome:
    """Run a command in this process."""
    from scenekin.cli import app

    out, err = io.StringIO(), io.StringIO()
    with patch.dict(os.environ), redirect_stdout(out), redirect_stderr(err):
        try:
            app([str(argument) for argument in arguments], prog_name="scenekin")
        except SystemExit as end:
            return Outcome(int(end.code or 0), out.getvalue(), err.getvalue())
    raise AssertionError("a command ends by SystemExit")


Environment = Mapping[str, str | None]
"""Variables that are set, or removed where they are None."""
UNCHANGED: Environment = MappingProxyType({})


def scenekin_process(*arguments: object, environment: Environment = UNCHANGED, cwd: Path | None = None) -> Outcome:
    """Run a command as people do, in a process of its own."""
    done = subprocess.run(
        [SCENEKIN, *map(str, arguments)],
        env=_changed(environment),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def serve(
    *arguments: object, environment: Environment = UNCHANGED, cwd: Path | None = None
) -> tuple[subprocess.Popen[str], str]:
    """Start a server in a process of its own, and return it with the address that it says."""
    server = subprocess.Popen(
        [SCENEKIN, "serve", "--port", "0", *map(str, arguments)],
        env=_changed(environment),
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    line = server.stdout.readline()
    if not line.startswith("Serving index main at http://"):
        raise AssertionError(line + server.communicate(timeout=60)[1])
    return server, line.split()[4]


def _changed(environment: Environment) -> dict[str, str]:
    return {name: value for name, value in {**os.environ, **environment}.items() if value is not None}
