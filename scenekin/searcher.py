"""Search an index from Python: needs neither Prefect nor MLflow."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch

from storage.index.manifest import Manifest
from storage.index.rows import approximate_file, index_rows, index_vectors
from storage.index.versions import current_version, missing_index, read_current
from storage.models import sound_model
from storage.source.tree import read_below
from storage.workspace import Workspace, find_workspace
from tasks.errors import InputError
from tasks.images.decode import UnreadableImage
from tasks.images.preprocess import to_pixels
from tasks.model.persistence import load
from tasks.model.scene_model import SceneModel
from tasks.model.text_model import TextModel, load_text
from tasks.search.explanation import Explanation, explain
from tasks.search.modifiers import ADD, REMOVE
from tasks.search.ranking import rank
from tasks.search.words import Words, embed_phrase, read_words

RECALL = 0.95  # what is asked of an approximate index


@dataclass(frozen=True)
class Result:
    """One image found; the score is a cosine, the path is relative to the collection's images."""

    rank: int
    image_id: str
    path: str
    score: float


@dataclass(frozen=True)
class Query(Words):
    """A query as it is ranked by, and the words that moved it."""

    embedding_D: np.ndarray = field(kw_only=True)


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
        searcher = read_current(space, name, lambda manifest: cls(space, manifest))
        if searcher is None:
            raise missing_index(space, name)
        return searcher

    def current(self) -> "Searcher":
        """Itself while its version is the one in use, else what answers from that one. Raises StorageError.

        Asking costs next to nothing. Networks that are loaded stay so where the new version has the same model.
        """
        if current_version(self.workspace, self.manifest.name) == self.manifest.version:
            return self
        newer = Searcher.open(self.workspace.root, self.manifest.name)
        if newer.manifest.model.reference == self.manifest.model.reference:
            vars(newer).update({name: vars(self)[name] for name in ("model", "text") if name in vars(self)})
        return newer

    @cached_property
    def model(self) -> SceneModel:
        """The model that embedded the index. Raises StorageError where it is gone or another."""
        return load(sound_model(self.workspace, self.manifest.model.reference))

    @cached_property
    def text(self) -> TextModel:
        """The words that the model of the index knows. Raises InputError where it is no joint model."""
        text = load_text(sound_model(self.workspace, self.manifest.model.reference))
        if text is None:
            raise InputError(
                f"The model of the index {self.manifest.name!r} knows no words; train one with `scenekin train "
                "COLLECTION --set 'candidates=[regression]'`, then `scenekin index COLLECTION --model challenger`."
            )
        return text

    def embed(self, image: Path | str | bytes) -> np.ndarray:
        """embedding_D of an image file or its bytes, as the index's own images went. Raises InputError."""
        try:
            data = image if isinstance(image, bytes) else Path(image).read_bytes()
        except OSError as error:
            raise InputError(f"The query {image!s} cannot be read: {error.strerror}.") from error
        pixels_HWC = self._pixels(data, f"The query {_name(image)}")
        with torch.inference_mode():
            embedding_D: np.ndarray = self.model(pixels_HWC[None])[0].numpy()
        return embedding_D

    def embedding_of(self, image_id: str) -> np.ndarray:
        """embedding_D of an image of the index. Raises InputError."""
        embedding_D: np.ndarray = self._embedding_ND[self._row(image_id)].astype(np.float32)
        return embedding_D

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each image by its id."""
        return {image_id: row for row, image_id in enumerate(self.image_ids)}

    def _row(self, image_id: str) -> int:
        if image_id not in self.row_of:
            raise InputError(f"There is no image {image_id!r} in the index {self.manifest.name!r}.")
        return self.row_of[image_id]

    def image_of(self, image_id: str) -> bytes:
        """The file of an image of the index, as it is now. Raises InputError."""
        path = self.paths[self._row(image_id)]
        root = self.manifest.images_root
        try:
            return read_below(root, path)
        except OSError as error:
            raise InputError(
                f"The image {image_id!r} of the index {self.manifest.name!r} cannot be read at {root}/{path}: "
                f"{error.strerror or error}; run `scenekin index` again."
            ) from error

    def read(self, image: Path | str | bytes) -> bytes:
        """The bytes of a file, else of the image of the index with that id. Raises InputError."""
        if isinstance(image, bytes):
            return image
        if not _exists(Path(image)) and str(image) in self.row_of:
            return self.image_of(str(image))
        try:
            return Path(image).read_bytes()
        except FileNotFoundError:
            index = self.manifest.name
            raise InputError(f"There is no file {str(image)!r}, and no such image in the index {index!r}.") from None
        except OSError as error:
            raise InputError(f"The image {image!s} cannot be read: {error.strerror}.") from error

    def explain(self, a: Path | str | bytes, b: Path | str | bytes) -> Explanation:
        """Why two images match: each a file, its bytes, or the id of an image of the index; METHOD.md 7.

        A file that exists goes before an id. Raises InputError.
        """
        pixels_a_HWC, pixels_b_HWC = (
            self._pixels(self.read(image), "The image" if isinstance(image, bytes) else f"The image {image}")
            for image in (a, b)
        )
        return explain(self.model, pixels_a_HWC, pixels_b_HWC)

    def _pixels(self, data: bytes, what: str) -> torch.Tensor:
        try:
            return to_pixels(data, self.model.config.preprocessing)
        except UnreadableImage as error:
            raise InputError(f"{what} is no usable image: {error}.") from error

    def query(
        self,
        image: Path | str | bytes | None = None,
        *,
        image_id: str | None = None,
        text: str | None = None,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        alpha: float = ADD,
        beta: float = REMOVE,
    ) -> Query:
        """An image (a file, its bytes or the id of an indexed one) or a text, moved by words (METHOD.md 8).

        A term is a word or several, with its own weight as `snow:2`. Terms of which no word tells images apart move
        nothing, and a term that is both added and removed cancels. Raises InputError, also where a text has no word
        that tells images apart.
        """
        if sum(given is not None for given in (image, image_id, text)) != 1:
            raise InputError("Give an image, the id of one in the index, or a text.")
        words = self.words(add, remove, alpha, beta, text or "")
        if text is None:
            start_D = self.embed(image) if image is not None else self.embedding_of(str(image_id))
        else:
            told_D = embed_phrase(self.text, text)
            if not text.strip():
                raise InputError("The text has no word.")
            if told_D is None:
                raise InputError(f"No word of {text!r} is known and tells images apart; {_hint(words)}.")
            start_D = told_D
        return Query(**vars(words), embedding_D=words.move(start_D))

    def words(
        self,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        alpha: float = ADD,
        beta: float = REMOVE,
        text: str = "",
    ) -> Words:
        """How these terms move any query. Raises InputError, also where there are any and the model knows no words."""
        return read_words(self.text, add, remove, alpha, beta, text) if add or remove or text else Words()

    def effort(self, top: int, recall: float) -> tuple[int, float]:
        """How many lists of the approximate index a search looks into, and the share of the `top` nearest found there.

        (0, 1) where it looks at all images: without such an index, or where no measured share is good enough.
        """
        approximate = self.manifest.approximate
        found = approximate.effort(top, recall) if approximate is not None and recall < 1 else None
        return found if found is not None and self._approximate is not None else (0, 1.0)

    @cached_property
    def _approximate(self) -> Any:
        file = approximate_file(self.workspace, self.manifest)
        if file is None:
            return None
        from tasks.search.approximate import load as load_approximate  # noqa: PLC0415  faiss is needed by few

        return load_approximate(file)

    def nearest(self, query: Query, top: int = 10, recall: float = RECALL) -> list[Result]:
        """The `top` nearest images of a query, best first, equal scores by id."""
        row_BT, score_BT = self.ranked(query.embedding_D[None], top, recall)
        return [
            Result(place, self.image_ids[row], self.paths[row], float(score))
            for place, (row, score) in enumerate(zip(row_BT[0], score_BT[0], strict=True), start=1)
        ]

    def ranked(self, query_BD: np.ndarray, top: int, recall: float = RECALL) -> tuple[np.ndarray, np.ndarray]:
        """(row_BT, score_BT) of many queries at once; rounding makes no cosine exceed 1. Raises InputError.

        Exact, but for an index so large that it has an approximate one: that answers where it was measured to find
        the share `recall` of them.
        """
        if top < 1:
            raise InputError(f"At least 1 result has to be asked for, not {top}.")
        probes, _ = self.effort(top, recall)
        if probes:
            from tasks.search.approximate import rank_approximately  # noqa: PLC0415  faiss is needed by few

            row_BT, score_BT = rank_approximately(self._approximate, query_BD, self._embedding_ND, top, probes)
        else:
            row_BT, score_BT = rank(query_BD, self._embedding_ND, top)
        return row_BT, np.minimum(score_BT, 1)

    def embeddings_of(self, rows: slice) -> np.ndarray:
        """embedding_BD of images of the index, by their rows."""
        embedding_BD: np.ndarray = self._embedding_ND[rows].astype(np.float32)
        return embedding_BD

    def search(
        self,
        image: Path | str | bytes | None = None,
        *,
        image_id: str | None = None,
        text: str | None = None,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        top: int = 10,
    ) -> list[Result]:
        """The `top` nearest images of what `query` makes of the rest."""
        return self.nearest(self.query(image, image_id=image_id, text=text, add=add, remove=remove), top)


def _hint(words: Words) -> str:
    near = dict.fromkeys(word for known in words.suggestions.values() for word in known)
    return f"known words that are spelled like it: {', '.join(near)}" if near else "try other words"


def _name(image: Path | str | bytes) -> str:
    return "image" if isinstance(image, bytes) else str(image)


def _exists(path: Path) -> bool:
    with suppress(OSError):  # a name that is too long for any file
        return path.exists()
    return False
