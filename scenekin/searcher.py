"""Search an index from Python, without Prefect or MLflow."""

import hashlib
import logging
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from PIL import Image

from scenekin.errors import MissingImage, NoTextModel
from scenekin.image_input import ImageInput, MissingFile, content_of, exists, read_file
from storage.index.images import read_image
from storage.index.manifest import Manifest
from storage.index.rows import approximate_file, index_captions, index_rows, index_vectors, vectors_intact
from storage.index.versions import current_version, missing_index, read_current
from storage.models import sound_model
from storage.workspace import Workspace, find_workspace
from tasks.errors import InputError
from tasks.images.decode import UnreadableImage
from tasks.images.preprocess import Inputs, to_inputs
from tasks.model.config import load_config
from tasks.model.methods import LABELS
from tasks.model.persistence import load_for_queries
from tasks.model.scene_model import SceneModel
from tasks.model.text_model import TextModel, load_text
from tasks.phrases import counted, did_you_mean, either
from tasks.search.explanation import Explanation, explain
from tasks.search.modifiers import ADD, REMOVE
from tasks.search.ranking import rank
from tasks.search.words import Words, embed_phrase, read_words

RECALL = 0.95  # minimum recall of an approximate index by default
LOGGER = logging.getLogger("scenekin")


@dataclass(frozen=True)
class Result:
    """A search result; the score is a cosine similarity, the path is relative to the collection's images."""

    rank: int
    image_id: str
    path: str
    score: float


@dataclass(frozen=True)
class Query(Words):
    """The embedding of a query, and the words that steer it."""

    embedding_D: np.ndarray = field(kw_only=True)


class Searcher:
    """Searches one version of an index."""

    def __init__(self, workspace: Workspace, manifest: Manifest) -> None:
        self.workspace = workspace
        self.manifest = manifest
        rows = index_rows(workspace, manifest, ["image_id", "path"])
        self.image_ids: list[str] = rows["image_id"].to_pylist()
        self.paths: list[str] = rows["path"].to_pylist()
        self._embedding_ND = index_vectors(workspace, manifest)
        images = counted(manifest.images, "image")
        LOGGER.info("Opened index %s version %d: %s", manifest.name, manifest.version, images)

    def __repr__(self) -> str:
        manifest = self.manifest
        return f"Searcher(index {manifest.name!r} version {manifest.version}, {counted(manifest.images, 'image')})"

    @classmethod
    def open(cls, workspace: Path | str | None = None, name: str = "main") -> "Searcher":
        """The current version of an index. Raises StorageError if there is none."""
        space = find_workspace(workspace)
        searcher = read_current(space, name, lambda manifest: cls(space, manifest))
        if searcher is None:
            raise missing_index(space, name)
        return searcher

    def current(self) -> "Searcher":
        """This searcher if its version is still current, else one of the current version. Raises StorageError.

        Checking is cheap. A version whose vectors were truncated on disk is opened again, which restores them. A loaded
        network is reused if the new version has the same model.
        """
        is_current = current_version(self.workspace, self.manifest.name) == self.manifest.version
        if is_current and vectors_intact(self.workspace, self.manifest):
            return self
        newer = Searcher.open(self.workspace.root, self.manifest.name)
        if newer.manifest.model.reference == self.manifest.model.reference:
            vars(newer).update({name: vars(self)[name] for name in ("model", "text") if name in vars(self)})
        return newer

    @cached_property
    def model(self) -> SceneModel:
        """The model that embedded the index. Raises StorageError if it is missing or has changed."""
        LOGGER.info("Loading model %s version %d", self.manifest.model.name, self.manifest.model.version)
        return load_for_queries(sound_model(self.workspace, self.manifest.model.reference))

    @cached_property
    def text(self) -> TextModel:
        """The text side of the index's model. Raises NoTextModel if it has none, StorageError as `model`."""
        folder = sound_model(self.workspace, self.manifest.model.reference)
        text = load_text(folder)
        if text is None:
            method = load_config(folder).method
            raise NoTextModel(
                f"The model of the index {self.manifest.name!r} is {LABELS.get(method, method)}, which knows no words; "
                "index the collection with a model of another method, such as regression."
            )
        return text

    def embed(self, image: ImageInput) -> np.ndarray:
        """embedding_D of an image, computed as for indexed images. Raises InputError."""
        inputs = self._inputs(content_of(image, read_file), image)
        with torch.inference_mode():
            embedding_D: np.ndarray = self.model.embed_one(inputs).numpy()
        return embedding_D

    def embedding_of(self, image_id: str) -> np.ndarray:
        """embedding_D of an indexed image. Raises MissingImage."""
        embedding_D: np.ndarray = self._embedding_ND[self.row(image_id)].astype(np.float32)
        return embedding_D

    @cached_property
    def row_of(self) -> dict[str, int]:
        """The row of each image by its id."""
        return {image_id: row for row, image_id in enumerate(self.image_ids)}

    def row(self, image_id: str) -> int:
        """The row of an indexed image. Raises MissingImage."""
        row = self.row_of.get(image_id)
        if row is None:
            hint = did_you_mean(image_id, self.image_ids)
            raise MissingImage(f"No image {image_id[:80]!r} in the index {self.manifest.name!r}.{hint}")
        return row

    @cached_property
    def _digests(self) -> pa.ChunkedArray:
        return index_rows(self.workspace, self.manifest, ["sha256"])["sha256"]

    @cached_property
    def _captions(self) -> pa.ChunkedArray:
        return index_captions(self.workspace, self.manifest)

    def digest_of(self, image_id: str) -> str:
        """SHA-256 of the file of an indexed image when it was indexed. Raises MissingImage."""
        digest: str = self._digests[self.row(image_id)].as_py()
        return digest

    def caption_of(self, image_id: str) -> str | None:
        """The caption of an indexed image, if the collection has one. Raises MissingImage."""
        caption: str | None = self._captions[self.row(image_id)].as_py()
        return caption

    def captions_of(self, row_N: np.ndarray) -> pa.Array:
        """The captions of indexed images by their rows, null for images without one."""
        return self._captions.take(pa.array(row_N)).combine_chunks().cast(pa.string())

    def location_of(self, image_id: str) -> str:
        """The path or URL of the file of an indexed image. Raises MissingImage."""
        return f"{self.manifest.images_root.rstrip('/')}/{self.paths[self.row(image_id)]}"

    def read_indexed(self, image_id: str, *, follow_links: bool = True) -> bytes:
        """The bytes of the file of an indexed image. Raises MissingImage if they are not those that were indexed.

        So no file or link that has taken its place is ever read as that image. Links out of the collection are followed
        only if the index was made so and `follow_links` is set.
        """
        path, index = self.paths[self.row(image_id)], self.manifest.name
        try:
            data = read_image(self.manifest, path, follow_links=follow_links)
        except OSError as error:
            raise MissingImage(
                f"Cannot read image {image_id!r} of the index {index!r} at {self.location_of(image_id)}: "
                f"{error.strerror or error}; index the collection again."
            ) from error
        if hashlib.sha256(data).hexdigest() != self.digest_of(image_id):
            raise MissingImage(
                f"Image {image_id!r} has changed since the index {index!r} was made; index the collection again."
            )
        return data

    def read(self, image: Path | str) -> bytes:
        """The bytes of a file or, if there is no such file, of the indexed image with that id. Raises InputError."""
        if not exists(Path(image)) and str(image) in self.row_of:
            return self.read_indexed(str(image))
        try:
            return read_file(image)
        except MissingFile:
            hint = did_you_mean(str(image), self.image_ids)
            raise InputError(
                f"No such file or image in the index {self.manifest.name!r}: {str(image)!r}.{hint}"
            ) from None

    def explain(self, a: ImageInput, b: ImageInput) -> Explanation:
        """Why two images match (METHOD.md 7). A path that is no file is taken as the id of an indexed image.

        Raises InputError.
        """
        inputs_a, inputs_b = (self._inputs(content_of(image, self.read), image) for image in (a, b))
        return explain(self.model, inputs_a, inputs_b)

    def _inputs(self, data: bytes | Image.Image, image: ImageInput) -> Inputs:
        try:
            return to_inputs(data, self.model.config.preprocessings)
        except UnreadableImage as error:
            name = repr(str(image)) if isinstance(image, str | Path) else "the image"
            raise InputError(f"Cannot decode {name}: {error}.") from error

    def query(
        self,
        image: ImageInput | None = None,
        *,
        image_id: str | None = None,
        text: str | None = None,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        alpha: float = ADD,
        beta: float = REMOVE,
    ) -> Query:
        """The query of an image, of an indexed image by its id, or of a text, steered by words (METHOD.md 8).

        A term is one or more words, optionally weighted as `snow:2`; `alpha` and `beta` are the strengths of added and
        removed terms. Terms without an informative word have no effect, and a term that is both added and removed
        cancels; `notes` of the result says so. Raises InputError, also if the text has no informative word.
        """
        if sum(given is not None for given in (image, image_id, text)) != 1:
            raise InputError("Give exactly one query: an image, the id of an indexed image, or a text.")
        if not isinstance(text, str | None):
            raise TypeError(f"text must be a string, not {text!r}.")
        words = self.words(add, remove, alpha, beta, text or "")
        if text is None:
            start_D = self.embed(image) if image is not None else self.embedding_of(str(image_id))
        else:
            text_D = embed_phrase(self.text, text)
            if not text.strip():
                raise InputError("The text is empty.")
            if text_D is None:
                raise InputError(f"Every word of {text!r} is unknown or too common to search for{_hint(words)}")
            start_D = text_D
        return Query(**vars(words), embedding_D=words.steer(start_D))

    def words(
        self,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        alpha: float = ADD,
        beta: float = REMOVE,
        text: str = "",
    ) -> Words:
        """How these terms steer any query. Raises InputError, NoTextModel if the model knows no words."""
        adding, removing = _terms("add", add), _terms("remove", remove)
        for name, strength in (("alpha", alpha), ("beta", beta)):
            _check_number(name, strength)
        return read_words(self.text, adding, removing, alpha, beta, text) if adding or removing or text else Words()

    def effort(self, top: int, recall: float) -> tuple[int, float]:
        """How many lists of the approximate index a search probes, and the measured recall of its `top` nearest.

        (0, 1) if the search is exact: without an approximate index, or if none of its measured recalls is enough.
        """
        approximate = self.manifest.approximate
        found = approximate.effort(top, recall) if approximate is not None and recall < 1 else None
        return found if found is not None and self._approximate_intact() else (0, 1.0)

    @cached_property
    def _approximate(self) -> tuple[Any, Path, int] | None:
        """The approximate index, its file and the bytes of that."""
        file = approximate_file(self.workspace, self.manifest)
        if file is None:
            return None
        from tasks.search.approximate import load as load_approximate  # noqa: PLC0415  few indexes need faiss

        return load_approximate(file), file, file.stat().st_size

    def _approximate_intact(self) -> bool:
        """Whether there is an approximate index of full size: reading a mapped file beyond its end kills the process.

        A file that was removed or replaced stays readable.
        """
        if self._approximate is None:
            return False
        _, file, size = self._approximate
        return not file.exists() or file.stat().st_size >= size

    def nearest(self, query: Query, top: int = 10, recall: float = RECALL) -> list[Result]:
        """The `top` images nearest to a query, best first, equal scores by id."""
        row_BT, score_BT = self.ranked(query.embedding_D[None], top, recall)
        return [
            Result(place, self.image_ids[row], self.paths[row], float(score))
            for place, (row, score) in enumerate(zip(row_BT[0], score_BT[0], strict=True), start=1)
        ]

    def ranked(self, query_BD: np.ndarray, top: int, recall: float = RECALL) -> tuple[np.ndarray, np.ndarray]:
        """(row_BT, score_BT) of a batch of queries; scores are at most 1 despite rounding. Raises InputError.

        Exact, unless the index is so large that it has an approximate one whose measured recall is at least `recall`.
        """
        if not isinstance(top, Integral):
            raise TypeError(f"top must be a whole number, not {top!r}.")
        if top < 1:
            raise InputError(f"top must be at least 1, not {top}.")
        _check_number("recall", recall)
        if not 0 <= recall <= 1:
            raise InputError(f"recall must be between 0 and 1, not {recall}.")
        probes, _ = self.effort(top, recall)
        if probes and self._approximate is not None:
            from tasks.search.approximate import rank_approximately  # noqa: PLC0415  few indexes need faiss

            row_BT, score_BT = rank_approximately(self._approximate[0], query_BD, self._embedding_ND, top, probes)
        else:
            row_BT, score_BT = rank(query_BD, self._embedding_ND, top)
        return row_BT, np.minimum(score_BT, 1)

    def embeddings_of(self, rows: slice) -> np.ndarray:
        """embedding_BD of indexed images by their rows."""
        embedding_BD: np.ndarray = self._embedding_ND[rows].astype(np.float32)
        return embedding_BD

    def search(
        self,
        image: ImageInput | None = None,
        *,
        image_id: str | None = None,
        text: str | None = None,
        add: Sequence[str] = (),
        remove: Sequence[str] = (),
        alpha: float = ADD,
        beta: float = REMOVE,
        top: int = 10,
        recall: float = RECALL,
    ) -> list[Result]:
        """The `top` images nearest to a query, which is given as to `query`, best first. Raises InputError.

        `recall` is the minimum recall of an index so large that it is searched approximately; 1 searches exactly. Warns
        of words that have no effect (UserWarning).
        """
        query = self.query(image, image_id=image_id, text=text, add=add, remove=remove, alpha=alpha, beta=beta)
        for note in query.notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        return self.nearest(query, top, recall)


def _terms(name: str, terms: Iterable[str]) -> list[str]:
    """The terms as a list; a single string is one term. Raises TypeError."""
    if isinstance(terms, str):
        return [terms]
    listed = list(terms) if isinstance(terms, Iterable) else []
    if not isinstance(terms, Iterable) or not all(isinstance(term, str) for term in listed):
        raise TypeError(f"{name} must be a string or a list of strings, not {terms!r}.")
    return listed


def _check_number(name: str, value: float) -> None:
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, not {value!r}.")


def _hint(words: Words) -> str:
    near = dict.fromkeys(word for known in words.suggestions.values() for word in known)
    return f". Did you mean {either(list(near))}?" if near else "; try other words."
