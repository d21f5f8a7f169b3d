"""The workspace: the one folder that the program writes to, and its lock."""

import errno
import fcntl
import json
import logging
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from storage.errors import WorkspaceError, WorkspaceInUse
from storage.settings import Settings
from storage.source.local_files import WORKSPACE_MARK

log = logging.getLogger("scenekin.workspace")


@dataclass(frozen=True)
class Workspace:
    """The layout of a workspace folder."""

    root: Path

    @property
    def artifacts(self) -> Path:
        """Results of stages, by stage and key."""
        return self.root / "artifacts"

    @property
    def work(self) -> Path:
        """Checkpoints of unfinished stages, by stage and key."""
        return self.root / "work"

    @property
    def models(self) -> Path:
        """Registered and candidate models, by digest."""
        return self.root / "models"

    @property
    def index(self) -> Path:
        """Indexes, by name."""
        return self.root / "index"

    @property
    def reports(self) -> Path:
        """Reports as HTML and JSON."""
        return self.root / "reports"

    @property
    def mlflow_database(self) -> Path:
        """The tracking store and registry."""
        return self.root / "mlflow.db"

    @property
    def mlflow_uri(self) -> str:
        """The URI of the tracking store and registry."""
        return f"sqlite:///{self.mlflow_database}"

    @property
    def mlflow_artifacts(self) -> Path:
        """MLflow's files: logged models and reports."""
        return self.root / "mlflow"

    @property
    def known_files(self) -> Path:
        """Digests of files that were read before."""
        return self.root / "known-files.db"


def open_workspace(root: Path | str | None = None) -> Workspace:
    """Open the workspace at `root`, else at $SCENEKIN_HOME, else at `.scenekin/`, creating it if it is missing.

    Raises WorkspaceError if it cannot be written.
    """
    folder = _folder(root)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".writable-{os.getpid()}"
        probe.touch()
        probe.rename(folder / WORKSPACE_MARK)
    except OSError as error:
        raise WorkspaceError(f"Cannot write to the workspace {folder}: {error.strerror or error}.") from error
    return Workspace(folder)


def find_workspace(root: Path | str | None = None) -> Workspace:
    """Open an existing workspace for reading; nothing is created. Raises WorkspaceError if there is none."""
    folder = _folder(root)
    if not folder.is_dir():
        raise WorkspaceError(
            f"No such workspace: {folder}; `scenekin train` or `scenekin index --untrained` creates it."
        )
    return Workspace(folder)


def _folder(root: Path | str | None) -> Path:
    folder = Path(root if root is not None else Settings().home).expanduser().absolute()
    if folder.is_file():
        raise WorkspaceError(f"{folder} is a file, not a workspace folder.")
    if set("%#?") & set(str(folder)):
        raise WorkspaceError(f"The workspace path {folder} must not contain %, # or ?: MLflow reads it as a URL.")
    return folder


@contextmanager
def locked(workspace: Workspace, holder: str, *, wait: bool = False) -> Iterator[None]:
    """Lock the workspace for writing. The operating system releases the lock when the process ends.

    Raises WorkspaceInUse naming the process that holds the lock, unless `wait` is set.
    """
    with _lock_file(workspace) as stream:
        _acquire(workspace, stream, wait)
        stream.truncate(0)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        stream.write(json.dumps({"holder": holder, "pid": os.getpid(), "host": socket.gethostname(), "since": now}))
        stream.flush()
        try:
            yield
        finally:
            stream.truncate(0)


def _acquire(workspace: Workspace, stream: IO[str], wait: bool) -> None:
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        in_use = _in_use(workspace, stream.fileno())
        if not wait:
            raise WorkspaceInUse(f"{in_use}.") from None
        log.warning("%s; waiting.", in_use)
        fcntl.flock(stream, fcntl.LOCK_EX)
    except OSError as error:  # ENOLCK, EOPNOTSUPP, …
        raise WorkspaceError(
            f"Cannot lock the workspace {workspace.root}: {error.strerror}; "
            "use a folder on a local disk, since some network shares have no locks."
        ) from error


def _lock_file(workspace: Workspace) -> IO[str]:
    """Open the lock file. A link or a special file in its place may belong to anybody and is not opened."""
    path = workspace.root / "lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is a link or a special file")
    except OSError as error:
        reason = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise WorkspaceError(f"Cannot open the lock file {path}: {reason}; remove it.") from error
    return os.fdopen(descriptor, "a+", encoding="utf-8")


def _in_use(workspace: Workspace, descriptor: int) -> str:
    try:
        lock = json.loads(os.pread(descriptor, 4096, 0))
        holder = f"{lock['holder']} (process {lock['pid']} on {lock['host']}, since {lock['since']})"
    except (ValueError, KeyError, TypeError):
        holder = "another process"
    return f"The workspace {workspace.root} is in use by {holder}"
