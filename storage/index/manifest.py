"""The manifest of an index version: what it was made from and what it contains."""

from typing import Any

from pydantic import BaseModel, ConfigDict, field_validator

from storage.models import ModelRef
from storage.source.credentials import without_credentials

MANIFEST, RAW, APPROXIMATE = "manifest.json", "vectors.f16", "approximate.faiss"

MeasuredRecall = dict[int, dict[int, float]]  # by the number of results and the number of lists searched


class IndexModel(BaseModel):
    """The model that embedded an index: its registered name and version, and its folder in the workspace."""

    model_config = ConfigDict(frozen=True)

    name: str
    version: int
    reference: ModelRef


class Changes(BaseModel):
    """How a version's images differ from those of the previous version.

    A renamed image has the same bytes under another path or id, and counts neither as added nor as removed.
    """

    model_config = ConfigDict(frozen=True)

    added: int
    changed: int
    removed: int
    renamed: int = 0  # manifests did not always record it
    unchanged: int
    captioned_before: int = 0  # images with captions; manifests did not always record it
    model_before: int | None = None  # the version of the previous version's model


class RefusedImage(BaseModel):
    """An image of the collection that is not in the index, the reason, and the kind of problem that it is."""

    model_config = ConfigDict(frozen=True)

    item: str
    reason: str
    kind: str = "unreadable-image"  # manifests did not always record it


class Approximate(BaseModel):
    """The approximate index of a version: its file's SHA-256, and its recall measured against exact search."""

    model_config = ConfigDict(frozen=True)

    file: dict[str, str]
    recall: MeasuredRecall

    def effort(self, top: int, recall: float) -> tuple[int, float] | None:
        """Return the fewest lists to search for a recall of the `top` nearest, and the recall measured there.

        None if no measured number of lists reaches it.
        """
        depth = min((depth for depth in self.recall if depth >= top), default=None)
        enough = [] if depth is None else [(n, found) for n, found in self.recall[depth].items() if found >= recall]
        return min(enough, default=None)


class Manifest(BaseModel):
    """The contents of a version. `parts` and `raw` map file names to SHA-256 digests.

    Image paths are relative to `images_root`, a folder or URL. From `approximate_from` images on, the version has an
    approximate index.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    version: int
    created_at: str
    collection: str
    images_root: str
    follow_links: bool = False  # out of the folder of the images
    model: IndexModel
    images: int
    columns: dict[str, Any] = {}  # settings that the tables of the collection were read with
    captioned: int | None = None  # images with captions; manifests did not always record it
    dimension: int
    preprocessing: str
    parts: dict[str, str] = {}
    raw: dict[str, str] = {}
    approximate_from: int = 1_000_000  # manifests did not always record it
    approximate: Approximate | None = None
    changes: Changes
    refused: tuple[RefusedImage, ...]

    @field_validator("collection", "images_root")
    @classmethod
    def _without_credentials(cls, place: str) -> str:
        """Old manifests may contain them."""
        return without_credentials(place)

    @property
    def is_large(self) -> bool:
        """Whether the version needs an approximate index."""
        return 0 < self.images >= self.approximate_from

    @property
    def part_metadata(self) -> dict[str, str]:
        """The key-value metadata of every part: what its vectors were computed with."""
        return {
            "model": self.model.name,
            "model_version": str(self.model.version),
            "model_digest": self.model.reference.digest,
            "dimension": str(self.dimension),
            "preprocessing": self.preprocessing,
        }
