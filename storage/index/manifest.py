"""What an index version holds, as its manifest records it."""

from pydantic import BaseModel, ConfigDict

from storage.models import ModelRef

MANIFEST, RAW, APPROXIMATE = "manifest.json", "vectors.f16", "approximate.faiss"


class IndexModel(BaseModel):
    """The model that embedded an index: its registered name and version, and its folder in the workspace."""

    model_config = ConfigDict(frozen=True)

    name: str
    version: int
    reference: ModelRef


class Changes(BaseModel):
    """How a version's images differ from those of the version before."""

    model_config = ConfigDict(frozen=True)

    added: int
    changed: int
    removed: int
    unchanged: int


class Refused(BaseModel):
    """An image of the collection that is not in the index, and why."""

    model_config = ConfigDict(frozen=True)

    item: str
    reason: str


class Approximate(BaseModel):
    """An approximate index beside the parts: its file's SHA-256, and its measured recall against exact search.

    Recall is by the length of the result list and by the number of lists that a query looks into.
    """

    model_config = ConfigDict(frozen=True)

    file: dict[str, str]
    recall: dict[int, dict[int, float]]

    def effort(self, top: int, recall: float) -> tuple[int, float] | None:
        """The fewest lists in which this share of the `top` nearest was found, and the share; None if in no number."""
        depth = min((depth for depth in self.recall if depth >= top), default=None)
        enough = [] if depth is None else [(n, found) for n, found in self.recall[depth].items() if found >= recall]
        return min(enough, default=None)


class Manifest(BaseModel):
    """What a version holds. `parts` and `raw` give the SHA-256 of each file.

    Paths are below `images_root`, a folder or URL. From `approximate_from` images on there is an approximate index.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    version: int
    created_at: str
    collection: str
    images_root: str
    model: IndexModel
    images: int
    dimension: int
    preprocessing: str
    parts: dict[str, str] = {}
    raw: dict[str, str] = {}
    approximate_from: int = 1_000_000  # what versions had that do not say
    approximate: Approximate | None = None
    changes: Changes
    refused: tuple[Refused, ...]

    @property
    def is_large(self) -> bool:
        """Whether it should have an approximate index."""
        return 0 < self.images >= self.approximate_from

    @property
    def part_metadata(self) -> dict[str, str]:
        """What every part says of its vectors."""
        return {
            "model": self.model.name,
            "model_version": str(self.model.version),
            "model_digest": self.model.reference.digest,
            "dimension": str(self.dimension),
            "preprocessing": self.preprocessing,
        }
