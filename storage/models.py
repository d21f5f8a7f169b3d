"""Model folders: references with a digest, and the copies that the workspace keeps."""

import hashlib
import shutil
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from storage.atomic import fresh_folder
from storage.checksum import file_digest
from storage.errors import StorageError
from storage.faults import FaultPoint, reach
from storage.workspace import Workspace

MODEL_FILES = ("config.json", "model.safetensors", "vocabulary.parquet")
TEXT_FILE = "text.safetensors"  # only of models that search by words
NETWORK_FILES = ("config.json", "model.safetensors")  # that determine the embeddings of images
REMEDY = "run `scenekin train COLLECTION` and `scenekin index COLLECTION` again"


class ModelRef(BaseModel):
    """A model folder: its path relative to the workspace, and the digest of the files that determine its output."""

    model_config = ConfigDict(frozen=True)

    path: str
    digest: str


def refer_to_model(workspace: Workspace, folder: Path) -> ModelRef:
    """Return the reference to a model folder in the workspace. Raises OSError if a file is missing."""
    text = [TEXT_FILE] if (folder / TEXT_FILE).exists() else []
    parts = [file_digest(folder / name) for name in [*MODEL_FILES, *text]]
    digest = hashlib.sha256("".join(parts).encode()).hexdigest()[:16]
    return ModelRef(path=folder.relative_to(workspace.root).as_posix(), digest=digest)


def network_digest(workspace: Workspace, model: ModelRef) -> str:
    """Return the digest of the files of a model that determine the embeddings of images, whatever words it knows."""
    folder = workspace.root / model.path
    return hashlib.sha256("".join(file_digest(folder / name) for name in NETWORK_FILES).encode()).hexdigest()[:16]


def sound_model(workspace: Workspace, model: ModelRef) -> Path:
    """Return the folder of a model whose files match their digest. Raises StorageError otherwise."""
    folder = workspace.root / model.path
    try:
        changed = refer_to_model(workspace, folder).digest != model.digest
    except OSError as error:
        raise StorageError(f"The model in {folder} is missing or incomplete; {REMEDY}.") from error
    if changed:
        raise StorageError(f"The model in {folder} does not match its recorded digest; {REMEDY}.")
    return folder


def keep_model(workspace: Workspace, model: ModelRef) -> ModelRef:
    """Copy a model folder to the workspace's models, named by its digest, so that artifacts may be deleted."""
    kept = model.model_copy(update={"path": (workspace.models / model.digest).relative_to(workspace.root).as_posix()})
    folder = workspace.root / kept.path
    try:
        sound_model(workspace, kept)
    except StorageError:
        with fresh_folder(folder) as temporary:
            for file in (workspace.root / model.path).iterdir():  # copytree's error would hide that a disk is full
                shutil.copy(file, temporary)
    reach(FaultPoint.MODEL_KEPT, folder)
    return kept
