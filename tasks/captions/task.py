"""The stage that builds the vocabulary."""

from storage.artifacts import Artifact
from tasks.caching import StageRun, stage
from tasks.captions.config import CaptionsConfig


@stage("vocabulary", libraries=("nltk", "regex"))
def build_vocabulary(run: StageRun, captions: Artifact, config: CaptionsConfig, split: str) -> None:
    """Captions of a split → vocabulary.parquet and tfidf.parquet with the images' copy groups (METHOD.md 2)."""
    from tasks.captions.stage import build_vocabulary as run_stage

    run_stage(run, captions, config, split)
