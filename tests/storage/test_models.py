import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from storage.errors import StorageError
from storage.faults import FaultPoint, inject
from storage.models import keep_model, network_digest, refer_to_model, sound_model
from storage.workspace import Workspace

CONTENTS = {"config.json": "{}", "model.safetensors": "weights", "vocabulary.parquet": "stems"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def model_folder(workspace: Workspace, name: str, **changed: str) -> Path:
    folder = workspace.artifacts / "training" / name / "model"
    folder.mkdir(parents=True)
    for file, content in (CONTENTS | {file.replace("_", "."): text for file, text in changed.items()}).items():
        (folder / file).write_text(content)
    return folder


def test_a_reference_is_relative_to_the_workspace(workspace: Workspace) -> None:
    assert refer_to_model(workspace, model_folder(workspace, "k1")).path == "artifacts/training/k1/model"


def test_the_digest_is_of_what_decides_embeddings(workspace: Workspace) -> None:
    first = refer_to_model(workspace, model_folder(workspace, "k1"))
    same = refer_to_model(workspace, model_folder(workspace, "k2"))
    others = [
        refer_to_model(workspace, model_folder(workspace, "k3", model_safetensors="other")),
        refer_to_model(workspace, model_folder(workspace, "k4", config_json="[]")),
        refer_to_model(workspace, model_folder(workspace, "k5", vocabulary_parquet="others")),
    ]
    assert first.digest == same.digest
    assert len({first.digest, *(other.digest for other in others)}) == 4


def test_the_words_of_a_model_do_not_decide_the_embeddings_of_images(workspace: Workspace) -> None:
    def digest(name: str, **changed: str) -> str:
        return network_digest(workspace, refer_to_model(workspace, model_folder(workspace, name, **changed)))

    same = digest("k1"), digest("k2", text_safetensors="words"), digest("k3", vocabulary_parquet="others")
    assert len({*same}) == 1
    assert len({*same, digest("k4", model_safetensors="other"), digest("k5", config_json="[]")}) == 3


def test_a_kept_model_outlives_its_artifact(workspace: Workspace) -> None:
    model = refer_to_model(workspace, model_folder(workspace, "k1"))
    kept = keep_model(workspace, model)
    shutil.rmtree(workspace.artifacts)
    folder = workspace.root / kept.path
    assert folder == workspace.models / model.digest
    assert {path.name: path.read_text() for path in folder.iterdir()} == CONTENTS
    assert refer_to_model(workspace, folder) == kept


def test_keeping_twice_changes_nothing(workspace: Workspace) -> None:
    model = refer_to_model(workspace, model_folder(workspace, "k1"))
    kept = keep_model(workspace, model)
    assert keep_model(workspace, model) == keep_model(workspace, kept) == kept
    assert [path.name for path in workspace.models.iterdir()] == [model.digest]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda file: file.write_text("wei"), "does not match its recorded digest"),
        (Path.unlink, "is missing or incomplete"),
    ],
)
def test_a_damaged_kept_model_is_refused_and_replaced(
    damage: Callable[[Path], object], words: str, workspace: Workspace
) -> None:
    model = refer_to_model(workspace, model_folder(workspace, "k1"))
    kept = keep_model(workspace, model)
    assert sound_model(workspace, kept) == workspace.root / kept.path
    damage(workspace.root / kept.path / "model.safetensors")
    with pytest.raises(StorageError, match=f"{workspace.root / kept.path} {words}; run `scenekin train"):
        sound_model(workspace, kept)
    assert keep_model(workspace, model) == kept
    assert sound_model(workspace, kept).joinpath("model.safetensors").read_text() == "weights"


def test_an_interrupt_once_a_model_is_kept_does_no_harm(workspace: Workspace) -> None:
    def interrupt(_: Path) -> None:
        raise KeyboardInterrupt

    model = refer_to_model(workspace, model_folder(workspace, "k1"))
    with inject(FaultPoint.MODEL_KEPT, interrupt), pytest.raises(KeyboardInterrupt):
        keep_model(workspace, model)
    assert sound_model(workspace, keep_model(workspace, model)) == workspace.models / model.digest
