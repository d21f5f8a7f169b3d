"""The stage that finds the nearest neighbours by caption similarity."""

from storage.artifacts import Artifact
from tasks.caching import StageRun, stage
from tasks.surrogate.config import SurrogateConfig


@stage("neighbours", libraries=("scipy", "sparse-dot-topn"))
def find_neighbours(run: StageRun, vocabulary: Artifact, config: SurrogateConfig) -> None:
    """Find the relevant images of each training image by tf-idf (METHOD.md 2) → neighbours.parquet."""
    from tasks.surrogate.stage import find

    find(run, vocabulary, config)
