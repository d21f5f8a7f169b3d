"""The `scenekin` command. Commands import what they need themselves: search loads neither Prefect nor MLflow."""

import io
import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import typer

from scenekin.commands.check import check
from scenekin.commands.config import config
from scenekin.commands.demo import demo
from scenekin.commands.duplicates import duplicates
from scenekin.commands.evaluate import evaluate
from scenekin.commands.explain import explain
from scenekin.commands.index import index
from scenekin.commands.search import search
from scenekin.commands.serve import serve
from scenekin.commands.train import train
from scenekin.commands.versions import versions
from scenekin.extras import missing_extra
from scenekin.interrupt import end_soon_on_interrupt
from scenekin.options import Workspace
from storage.errors import StorageError
from tasks.errors import InputError

P = ParamSpec("P")
T = TypeVar("T")

app = typer.Typer(
    name="scenekin",
    help="Find the images whose scene means the same, in collections where nobody has written text.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """The entry point."""
    end_soon_on_interrupt()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # file names need not fit the terminal's encoding
    app()


LIBRARY_DEFAULTS = {  # environment variables that users may set otherwise
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
}


@app.callback()
def _before(workspace: Workspace = None) -> None:
    for name, value in LIBRARY_DEFAULTS.items():
        os.environ.setdefault(name, value)
    if workspace is not None:
        os.environ["SCENEKIN_HOME"] = str(workspace)


def sentence_on_error(command: Callable[P, T]) -> Callable[P, T]:
    """Bad input and full or forbidden disks end a command with one sentence and exit code 1, not with a traceback."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return command(*args, **kwargs)
        except (InputError, StorageError, FloatingPointError) as error:
            message = str(error)
        except BrokenPipeError:
            raise  # whoever read the output has seen enough: typer ends quietly
        except OSError as error:
            message = f"{error.filename or 'A file'}: {error.strerror or error}."
        except ModuleNotFoundError as error:
            message = missing_extra(error)
        except KeyboardInterrupt:
            message = "Stopped."
        print(f"scenekin: {message}", file=sys.stderr)
        raise typer.Exit(1)

    return wrapped


for _command in (
    *(check, train, index, versions, evaluate, search, explain),
    *(duplicates, serve, demo, config),
):
    app.command()(sentence_on_error(_command))
