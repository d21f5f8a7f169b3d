"""How commands run flows, read settings and say what came of it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tasks.errors import InputError

T = TypeVar("T")


def quieten() -> None:
    """Settings of the libraries that people may override, before these are imported."""
    defaults = {
        "PREFECT_LOGGING_LEVEL": "CRITICAL",  # a failure is said once, in a sentence
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_CLIENT_MAX_RETRIES": "2",  # a server that is gone does not come back
        "MLFLOW_LOGGING_LEVEL": "ERROR",
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def settings_of(file: Path | None, assignments: list[str] | None) -> Any:
    """The settings of a file and of assignments; the libraries that read them are imported."""
    quieten()
    from scenekin.config_file import read_config

    return read_config(file, assignments or [])


def run_flow(flow: Callable[..., T], *args: Any) -> T:
    """Run a flow here, against the configured server or an ephemeral one. Raises InputError where it is gone."""
    from httpx import TransportError
    from prefect.settings import PREFECT_API_URL, PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

    try:
        with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):  # joining its thread takes a second
            return flow(*args)
    except (RuntimeError, TransportError) as error:
        if not isinstance(error.__cause__ or error, TransportError):
            raise
        server = PREFECT_API_URL.value() or "of this run"
        raise InputError(f"The Prefect server {server} does not answer; start it, or unset PREFECT_API_URL.") from error


def columns_of(image_column: str | None, caption_column: str | None) -> dict[str, str]:
    """Of a table's columns those that are named."""
    named = {"image_column": image_column, "caption_column": caption_column}
    return {name: column for name, column in named.items() if column is not None}


def path_text(workspace: Path | None) -> str | None:
    """A path as flows take it."""
    return None if workspace is None else str(workspace)
