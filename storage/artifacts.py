"""Results of stages: one folder each, named by stage and key, complete or absent, with a digest of its content."""

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from storage.atomic import TEMPORARY, fresh_folder
from storage.checksum import file_digest
from storage.faults import FaultPoint, reach
from storage.workspace import Workspace

MANIFEST = "artifact.json"


class Artifact(BaseModel):
    """A reference to a stage's result: its place (stage, key) and the digest of its content."""

    model_config = ConfigDict(frozen=True)

    stage: str
    key: str
    digest: str


def folder_of(workspace: Workspace, artifact: Artifact) -> Path:
    """Return the folder of an artifact's files."""
    return workspace.artifacts / artifact.stage / artifact.key


def find_artifact(workspace: Workspace, stage: str, key: str) -> Artifact | None:
    """Return the artifact of a stage and key, or None if it is absent or a file is missing or has another size."""
    folder = workspace.artifacts / stage / key
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        complete = all((folder / name).stat().st_size == entry["size"] for name, entry in manifest["files"].items())
    except (OSError, ValueError, KeyError):
        return None
    return Artifact(stage=stage, key=key, digest=manifest["digest"]) if complete else None


def write_artifact(workspace: Workspace, stage: str, key: str, fill: Callable[[Path], None]) -> Artifact:
    """Let `fill` write files into a temporary folder, and rename it once it is complete. Raises OSError."""
    final = workspace.artifacts / stage / key
    started = time.monotonic()
    with fresh_folder(final) as folder:
        fill(folder)
        files = {
            path.relative_to(folder).as_posix(): {"size": path.stat().st_size, "sha256": file_digest(path)}
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        digest = _digest_of(files)
        manifest = {"digest": digest, "seconds": round(time.monotonic() - started, 2), "files": files}
        (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
        reach(FaultPoint.ARTIFACT_WRITTEN, folder)
    return Artifact(stage=stage, key=key, digest=digest)


def seconds_of(workspace: Workspace, artifact: Artifact) -> float:
    """Return the seconds that the artifact took when it was computed."""
    seconds: float = json.loads((folder_of(workspace, artifact) / MANIFEST).read_text(encoding="utf-8"))["seconds"]
    return seconds


def narrow(workspace: Workspace, artifact: Artifact, *names: str) -> Artifact:
    """Return the artifact with a digest of the named files alone, for a stage that reads no others."""
    manifest = json.loads((folder_of(workspace, artifact) / MANIFEST).read_text(encoding="utf-8"))
    files = {name: manifest["files"][name] for name in names}
    return artifact.model_copy(update={"digest": _digest_of(files)})


def clear_leftovers(workspace: Workspace) -> None:
    """Remove the unfinished files of killed processes. The caller holds the workspace's lock."""
    for leftover in [
        *workspace.artifacts.glob(f"*/{TEMPORARY}"),
        *workspace.root.glob(f"*/{TEMPORARY}"),
        *workspace.index.glob(f"*/{TEMPORARY}"),
        *workspace.index.glob("*/*/*.tmp"),
        *workspace.root.glob(".demo-*"),
    ]:
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()


def _digest_of(files: Mapping[str, Mapping[str, object]]) -> str:
    listing = json.dumps({name: entry["sha256"] for name, entry in files.items()}, sort_keys=True)
    return hashlib.sha256(listing.encode()).hexdigest()
