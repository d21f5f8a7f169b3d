"""Builds the vocabulary of captions and their tf-idf vectors."""

from storage.artifacts import Artifact
from storage.tables import read_table, write_table
from tasks.caching import StageRun
from tasks.captions.config import CaptionsConfig
from tasks.captions.tfidf import tfidf, tfidf_table
from tasks.captions.vocabulary import build_vocabulary as build
from tasks.captions.vocabulary import vocabulary_table
from tasks.errors import InputError


def build_vocabulary(run: StageRun, captions: Artifact, config: CaptionsConfig, split: str) -> None:
    """Captions of a split → vocabulary.parquet and tfidf.parquet with the images' copy groups (METHOD.md 2).

    Raises InputError if they have no word.
    """
    table = read_table(run.open(captions) / f"captions/{split}.parquet")
    captions_N = table["captions"].to_pylist()
    vocabulary = build(captions_N, config.language)
    if not vocabulary.stems:
        raise InputError(f"The captions of the {split} split contain no words; check them with `scenekin check`.")
    weighted = tfidf_table(table["image_id"].to_pylist(), tfidf(captions_N, vocabulary))
    write_table(run.folder / "vocabulary.parquet", vocabulary_table(vocabulary))
    write_table(run.folder / "tfidf.parquet", weighted.append_column("copy_group", table["copy_group"]))
