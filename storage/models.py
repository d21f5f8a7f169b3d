"""References to model folders, and the folders kept in the workspace."""

import hashlib
import shutil
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from storage.atomic import fresh_folder
from storage.checksum import file_digest
from storage.errors import StorageError
from storage.workspace import Workspace

MODEL_FILES = ("config.json", "model.safetensors", "vocabulary.parquet")
TEXT_FILE = "text.safetensors"  # of a joint model
AGAIN = "run `scenekin train COLLECTION` and `scenekin index COLLECTION` again"


class ModelRef(BaseModel):
    """A model folder: its path relative to the workspace, and the digest of what decides its answers."""

    model_config = ConfigDict(frozen=True)

    path: str
    digest: str


def refer_to_model(workspace: Workspace, folder: Path) -> ModelRef:
    """The reference of a folder in the workspace."""
    text = [TEXT_FILE] if (folder / TEXT_FILE).exists() else []
    parts = [file_digest(folder / name) for name in [*MODEL_FILES, *text]]
    digest = hashlib.sha256("".join(parts).encode()).hexdigest()[:16]
    return ModelRef(path=folder.relative_to(workspace.root).as_posix(), digest=digest)


def sound_model(workspace: Workspace, model: ModelRef) -> Path:
    """The folder of a model that is what it was when it was referred to. Raises StorageError where it is not."""
    folder = workspace.root / model.path
    try:
        changed = refer_to_model(workspace, folder).digest != model.digest
    except OSError as error:
        raise StorageError(f"The model in {folder} is gone; {AGAIN}.") from error
    if changed:
        raise StorageError(f"The model in {folder} is another than its name says; {AGAIN}.")
    return folder


def keep_model(workspace: Workspace, model: ModelRef) -> ModelRef:
    """Copy the folder to the workspace's models, named by its digest, so that artifacts may be deleted."""
    kept = model.model_copy(update={"path": (workspace.models / model.digest).relative_to(workspace.root).as_posix()})
    try:
        sound_model(workspace, kept)
    except StorageError:
        with fresh_folder(workspace.root / kept.path) as folder:
            shutil.copytree(workspace.root / model.path, folder, dirs_exist_ok=True)
    return kept
