"""The `scenekin` command. Commands import lazily, so that a search loads neither Prefect nor MLflow."""

import inspect
import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

import typer

from flows.errors import EXPECTED
from scenekin.commands.backbones import backbones
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
from scenekin.console import LOGGER, configure_logging
from scenekin.errors import NoTextModel
from scenekin.extras import missing_extra
from scenekin.interrupt import end_soon_on_interrupt
from scenekin.options import Quiet, Verbose, Workspace
from scenekin.streams import open_streams, use_utf8
from scenekin.usage import Command, Group, WrongUsage
from storage.errors import InvalidName, NoChampion, WorkspaceError, WorkspaceInUse
from tasks.errors import InvalidOption

P = ParamSpec("P")
T = TypeVar("T")

# What commands add to an error's message, which names no options since it is also raised in Python.
HINTS: dict[type[Exception], str] = {
    NoTextModel: (
        " Run `scenekin train COLLECTION --set 'candidates=[regression]'`, "
        "then `scenekin index COLLECTION --model challenger`."
    ),
    NoChampion: " With `--model challenger` the latest one is used.",
    WorkspaceError: " Choose another with --workspace.",
    WorkspaceInUse: " Use --wait to wait for it, or --workspace for another one.",
}

app = typer.Typer(
    name="scenekin",
    help="Find images that show the same kind of scene, in collections without captions.",
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


# Environment variables that keep libraries quiet, unless users set them otherwise.
LIBRARY_DEFAULTS = {
    "MLFLOW_LOGGING_LEVEL": "ERROR",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
}


def main() -> None:
    """The entry point."""
    use_utf8()
    open_streams()
    end_soon_on_interrupt()
    try:
        os.getcwd()  # noqa: PTH109  libraries end the process without it
    except FileNotFoundError:
        sys.exit("scenekin: The current folder no longer exists; change to another one.")
    LOGGER.propagate = False  # handlers of libraries would print each message again
    arguments, sys.argv = sys.argv[1:], sys.argv[:1]  # libraries read it too: OpenVINO prints if it has --verbose
    try:
        app(arguments)
    except OSError as error:  # while printing help, say on a full disk; commands report their own
        sys.exit(f"scenekin: {_os_error_text(error)}")


def _os_error_text(error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}." if error.filename else f"Cannot read or write: {reason}."


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415

        print(f"scenekin {version('scenekin')}")
        raise typer.Exit


@app.callback()
def _configure(
    workspace: Workspace = None,
    verbose: Verbose = False,
    quiet: Quiet = False,
    version: Annotated[  # noqa: ARG001  its callback prints it
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    _set_logging(verbose, quiet)
    for name, value in LIBRARY_DEFAULTS.items():
        os.environ.setdefault(name, value)
    if workspace is not None:
        os.environ["SCENEKIN_HOME"] = str(workspace)


def _set_logging(verbose: bool, quiet: bool) -> None:
    if verbose and quiet:
        raise WrongUsage("--quiet and --verbose cannot be used together.")
    configure_logging(verbose, quiet)


def with_logging_options(command: Callable[..., T]) -> Callable[..., T]:
    """Let a command take --verbose and --quiet too, as the program does before the command."""

    @wraps(command)
    def wrapped(*args: Any, verbose: bool, quiet: bool, **kwargs: Any) -> T:
        if verbose or quiet:
            _set_logging(verbose, quiet)
        return command(*args, **kwargs)

    signature = inspect.signature(command, eval_str=True)
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in (("verbose", Verbose), ("quiet", Quiet))
    ]
    vars(wrapped)["__signature__"] = signature.replace(parameters=[*signature.parameters.values(), *options])
    return wrapped


def sentence_on_error(command: Callable[P, T]) -> Callable[P, T]:
    """End a command that cannot do its work with one sentence and exit code 1, or 2 for wrong usage."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return command(*args, **kwargs)
        except (InvalidOption, InvalidName) as error:
            raise WrongUsage(str(error)) from None
        except BrokenPipeError:
            raise  # the reader of the output has closed it: typer exits quietly
        except EXPECTED as error:
            message = _os_error_text(error) if isinstance(error, OSError) else f"{error}{HINTS.get(type(error), '')}"
        except ModuleNotFoundError as error:
            message = missing_extra(error)
        except KeyboardInterrupt:
            message = "Stopped."
        print(f"scenekin: {message}", file=sys.stderr)
        raise typer.Exit(1)

    return wrapped


for _command in (
    *(demo, check, train, evaluate, index, versions),
    *(search, explain, duplicates, serve, config, backbones),
):
    app.command(cls=Command)(with_logging_options(sentence_on_error(_command)))
