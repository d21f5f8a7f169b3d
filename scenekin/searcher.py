"""Search an index from Python: needs neither Prefect nor MLflow."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from storage.errors import StorageError
from storage.index import Manifest, current_manifest, index_rows, index_vectors
from storage.workspace import Workspace, find_workspace
from tasks.errors import InputError
from tasks.images.decode import UnreadableImage
from tasks.images.preprocess import to_pixels
from tasks.model.folder import load
from tasks.model.scene_model import SceneModel
from tasks.search.ranking import rank


@dataclass(frozen=True)
class Result:
    """One image found; the score is a cosine, the path is relative to the collection's images."""

    rank: int
    image_id: str
    path: str
    score: float


class Searcher:
    """Answers from one version of an index."""

    def __init__(self, workspace: Workspace, manifest: Manifest) -> None:
        self.workspace = workspace
        self.manifest = manifest
        rows = index_rows(workspace, manifest, ["image_id", "path"])
        self.image_ids: list[str] = rows["image_id"].to_pylist()
        self.paths: list[str] = rows["path"].to_pylist()
        self._embedding_ND = index_vectors(workspace, manifest)

    @classmethod
    def open(cls, workspace: Path | str | None = None, name: str = "main") -> "Searcher":
        """The current version of an index. Raises StorageError where there is none."""
        space = find_workspace(workspace)
        manifest = current_manifest(space, name)
        if manifest is None:
            raise StorageError(
                f"There is no index {name!r} in {space.root}; make one with `scenekin index COLLECTION`."
            )
        return cls(space, manifest)

    @cached_property
    def model(self) -> SceneModel:
        """The model that embedded the index."""
        return load(self.workspace.root / self.manifest.model.reference.path)

    def embed(self, image: Path | str | bytes) -> np.ndarray:
        """embedding_D of an image file or its bytes, as the index's own images went. Raises InputError."""
        try:
            data = image if isinstance(image, bytes) else Path(image).read_bytes()
            pixels_HWC = to_pixels(data, self.model.config.preprocessing)
        except OSError as error:
            raise InputError(f"The query {image!s} cannot be read: {error.strerror}.") from error
        except UnreadableImage as error:
            raise InputError(f"The query {_name(image)} is no usable image: {error}.") from error
        with torch.inference_mode():
            embedding_D: np.ndarray = self.model(pixels_HWC[None])[0].numpy()
        return embedding_D

    def embedding_of(self, image_id: str) -> np.ndarray:
        """embedding_D of an image of the index. Raises InputError."""
        try:
            row = self.image_ids.index(image_id)
        except ValueError:
            raise InputError(f"There is no image {image_id!r} in the index {self.manifest.name!r}.") from None
        embedding_D: np.ndarray = self._embedding_ND[row].astype(np.float32)
        return embedding_D

    def search(
        self, image: Path | str | bytes | None = None, *, image_id: str | None = None, top: int = 10
    ) -> list[Result]:
        """The `top` nearest images of a query, a file or its bytes or the id of an indexed one, best first."""
        if (image is None) == (image_id is None):
            raise InputError("Give an image, or the id of one in the index.")
        if top < 1:
            raise InputError(f"At least 1 result has to be asked for, not {top}.")
        query_D = self.embed(image) if image is not None else self.embedding_of(str(image_id))
        row_BT, score_BT = rank(query_D[None], self._embedding_ND, top)
        return [
            Result(place, self.image_ids[row], self.paths[row], float(score))
            for place, (row, score) in enumerate(zip(row_BT[0], score_BT[0], strict=True), start=1)
        ]


def _name(image: Path | str | bytes) -> str:
    return "image" if isinstance(image, bytes) else str(image)
