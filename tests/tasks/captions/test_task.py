from pathlib import Path

import pytest

from storage.artifacts import Artifact, write_artifact
from storage.tables import write_table
from storage.workspace import Workspace
from tasks.captions.task import require_shared_words
from tasks.captions.vocabulary import build_vocabulary, vocabulary_table
from tasks.errors import InputError


def vocabulary(workspace: Workspace, *captions: str) -> Artifact:
    table = vocabulary_table(build_vocabulary([[caption] for caption in captions], "english"))
    return write_artifact(
        workspace, "vocabulary", "key", lambda folder: write_table(folder / "vocabulary.parquet", table)
    )


def test_words_that_images_share_pass(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    require_shared_words(workspace, vocabulary(workspace, "a red dog", "a green cat", "a blue cow"))


def test_text_in_which_no_word_comes_again_is_refused(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    captions = [f"xq{number} yz{number}" for number in range(20)]
    with pytest.raises(InputError, match=r"^100% of the 40 words .* one image only.*--encoding"):
        require_shared_words(workspace, vocabulary(workspace, *captions))
