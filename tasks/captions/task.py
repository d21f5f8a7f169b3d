"""The stage that builds the vocabulary."""

import pyarrow.compute as pc

from storage.artifacts import Artifact, folder_of
from storage.tables import read_table
from storage.workspace import Workspace
from tasks.caching import StageRun, stage
from tasks.captions.config import CaptionsConfig
from tasks.errors import InputError

MAX_SINGLE = 0.95  # of the words may occur with one image only; with more the text was hardly understood


def require_shared_words(workspace: Workspace, vocabulary: Artifact) -> None:
    """Raise InputError if nearly every word occurs with one image only, so that captions show no similarity."""
    frequency_V = read_table(folder_of(workspace, vocabulary) / "vocabulary.parquet")["document_frequency"]
    single = pc.mean(pc.equal(frequency_V, 1)).as_py() or 0.0
    if single > MAX_SINGLE:
        raise InputError(
            f"{single:.0%} of the {len(frequency_V):,} words in the training captions occur with one image only, "
            "so there is nothing to learn from them; check with `scenekin check` that the captions are read correctly "
            "(--encoding, --caption-column)."
        )


@stage("vocabulary", libraries=("nltk", "regex"))
def build_vocabulary(run: StageRun, captions: Artifact, config: CaptionsConfig, split: str) -> None:
    """Captions of a split → vocabulary.parquet and tfidf.parquet with the images' copy groups (METHOD.md 2)."""
    from tasks.captions.stage import build_vocabulary as run_stage

    run_stage(run, captions, config, split)
