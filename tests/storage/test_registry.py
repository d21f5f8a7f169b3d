import shutil
from dataclasses import replace
from pathlib import Path

import mlflow
import numpy as np
import pandas as pd
import pytest

from storage.errors import NoChampion, StorageError
from storage.faults import FaultPoint, inject
from storage.mlflow_store import tracking_client
from storage.models import ModelRef
from storage.registry import ModelPackage, Registered, VersionInfo, find_model, known_version, register
from storage.tracking import RunPage, log_files, training_run
from storage.workspace import Workspace

DEFINITION = """
from pathlib import Path

import numpy as np
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel


class Doubles(PythonModel):
    def load_context(self, context):
        self.scale = int((Path(context.artifacts["model"]) / "scale.txt").read_text())

    def predict(self, context, model_input, params=None):
        from travelling import double

        return np.array([[double(self.scale * len(data))] for data in model_input["image"]], np.float32)


set_model(Doubles())
"""


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace where nothing is registered; making MLflow's database takes seconds."""
    workspace = Workspace(tmp_path_factory.mktemp("empty"))
    tracking_client(workspace).search_registered_models()
    return workspace


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> ModelPackage:
    """A model that needs none of our code, but some that travels with it."""
    folder = tmp_path_factory.mktemp("package")
    (folder / "code").mkdir()
    (folder / "code" / "travelling.py").write_text("def double(value):\n    return 2 * value\n")
    (folder / "definition.py").write_text(DEFINITION)
    return ModelPackage(
        python_model=folder / "definition.py",
        code=folder / "code",
        input_example=pd.DataFrame({"image": [b"abc"]}),
        requirements=("numpy", "pandas"),
        dimension=1,
    )


def model(workspace: Workspace, digest: str, scale: int = 1) -> ModelRef:
    folder = workspace.models / digest
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scale.txt").write_text(str(scale))
    return ModelRef(path=f"models/{digest}", digest=digest)


@pytest.fixture(scope="module")
def workspace(empty: Workspace, package: ModelPackage, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Three models registered one after another."""
    workspace = Workspace(tmp_path_factory.mktemp("registry") / "workspace")
    shutil.copytree(empty.root, workspace.root)
    for number, digest in enumerate(("one", "two", "three"), start=1):
        train_and_register(workspace, digest, package, number)
    return workspace


def train_and_register(
    workspace: Workspace, digest: str, package: ModelPackage, number: int = 1, doubt: str | None = None
) -> Registered:
    best, other = model(workspace, digest, scale=number), model(workspace, f"beside {digest}")
    page = RunPage("v_v", "(V,V)", f"photos {digest}", "/photos", "d", "k")
    with training_run(workspace, page, workspace.root / f"run {digest}") as log:
        pass
    info = VersionInfo(
        candidates={"v_v": best, "regression": other},
        config=f"config of {digest}",
        card=f"# card of {digest}",
        tags={"format": "imagefolder"},
        doubt=doubt,
    )
    metrics = {"ndcg_auc": 40.0 + number, "ndcg_at_10": 0.5}
    return register(workspace, log.run_id, best, info=info, metrics=metrics, package=package)


@pytest.mark.parametrize(
    ("name", "version", "aliases"),
    [
        ("champion", 1, ("champion",)),
        ("challenger", 3, ("challenger",)),
        ("1", 1, ("champion",)),
        ("2", 2, ()),
        ("3", 3, ("challenger",)),
    ],
)
def test_the_first_is_the_champion_and_the_last_the_challenger(
    workspace: Workspace, name: str, version: int, aliases: tuple[str, ...]
) -> None:
    found = find_model(workspace, name)
    assert (found.version, found.aliases) == (version, aliases)


def test_a_version_says_all_that_evaluating_it_takes(workspace: Workspace) -> None:
    assert find_model(workspace, "champion") == Registered(
        version=1,
        run_id=(workspace.root / "run one").read_text(),
        aliases=("champion",),
        model=ModelRef(path="models/one", digest="one"),
        candidates={
            "v_v": ModelRef(path="models/one", digest="one"),
            "regression": ModelRef(path="models/beside one", digest="beside one"),
        },
        reason="the first version",
        config="config of one",
        collection="photos one",
    )
    assert find_model(workspace, "3").reason == "kept as challenger; not in use"


def renew(workspace: Workspace, version: Registered) -> Registered:
    """Train again what gives this version, with other settings."""
    info = VersionInfo(version.candidates, "new", "# new", {"format": "new"})
    same = known_version(workspace, version.model, info)
    assert same is not None
    return same


def described(workspace: Workspace, version: Registered) -> tuple[str | None, str]:
    """The card of a version: its description, and what lies with its run."""
    client = tracking_client(workspace)
    logged = Path(client.download_artifacts(version.run_id, "model_card.md"))
    return client.get_model_version("scenekin", str(version.version)).description, logged.read_text(encoding="utf-8")


@pytest.mark.parametrize(("version", "digest"), [("1", "one"), ("3", "three")])
def test_a_version_is_described_by_its_card_that_lies_with_its_run(
    workspace: Workspace, version: str, digest: str
) -> None:
    card = f"# card of {digest}"
    assert described(workspace, find_model(workspace, version)) == (card, card)


def test_a_known_model_is_found_by_its_digest_and_stays_as_it_was_registered(workspace: Workspace) -> None:
    before, last = find_model(workspace, "2"), find_model(workspace, "3")
    renewed = renew(workspace, before)
    assert renewed.aliases == ("challenger",)  # what was trained last challenges
    assert replace(renewed, aliases=()) == before
    assert not renewed.is_new
    assert described(workspace, renewed) == ("# card of two", "# card of two")
    client = tracking_client(workspace)
    assert client.get_run(renewed.run_id).data.tags["format"] == "imagefolder"
    renew(workspace, last)
    assert (find_model(workspace, "2"), find_model(workspace, "challenger")) == (before, last)


def test_an_unknown_model_is_no_version(workspace: Workspace) -> None:
    unknown = ModelRef(path="models/one", digest="beside one")
    assert known_version(workspace, unknown, VersionInfo({}, "", "")) is None
    first = find_model(workspace, "1")
    assert known_version(workspace, first.model, VersionInfo({"v_v": first.model}, "", "")) is None


def test_a_known_version_is_not_written_to(workspace: Workspace) -> None:
    def written() -> object:
        return tracking_client(workspace).get_model_version("scenekin", "3").last_updated_timestamp

    last, before = find_model(workspace, "3"), written()
    renew(workspace, last)
    assert written() == before
    assert described(workspace, last)[0] == "# card of three"


def test_a_lost_champion_is_named_again_and_the_reason_is_true(workspace: Workspace) -> None:
    champion = find_model(workspace, "champion")
    tracking_client(workspace).delete_registered_model_alias("scenekin", "champion")
    renewed = renew(workspace, champion)
    assert renewed.aliases == champion.aliases
    assert renewed.reason == "there was no champion"
    assert find_model(workspace, "3").aliases == ("challenger",)


@pytest.mark.parametrize("name", ["winner", "4", "0", "", "champion champion"])
def test_a_model_that_is_not_there_is_named(workspace: Workspace, name: str) -> None:
    with pytest.raises(StorageError, match=f"There is no model '{name}' in .*; choose an existing alias or version"):
        find_model(workspace, name)


def test_where_nothing_is_registered_nothing_is_found(empty: Workspace) -> None:
    assert known_version(empty, ModelRef(path="models/one", digest="one"), VersionInfo({}, "", "")) is None
    with pytest.raises(StorageError, match=r"No model has been trained in .* yet; run `scenekin train`"):
        find_model(empty, "champion")


@pytest.mark.parametrize(("name", "expected"), [("champion", 6.0), ("challenger", 18.0)])
def test_plain_mlflow_serves_it_with_the_code_that_travels(workspace: Workspace, name: str, expected: float) -> None:
    mlflow.set_tracking_uri(workspace.mlflow_uri)
    served = mlflow.pyfunc.load_model(f"models:/scenekin@{name}")
    assert served.predict(pd.DataFrame({"image": [b"abc", b""]})).tolist() == [[expected], [0.0]]
    schema = served.metadata.signature
    assert [(column.name, column.type.name) for column in schema.inputs] == [("image", "binary")]
    assert [(tensor.type, tensor.shape) for tensor in schema.outputs] == [(np.dtype(np.float32), (-1, 1))]


def test_the_logged_model_has_its_metrics_an_example_and_what_it_needs(workspace: Workspace) -> None:
    client = tracking_client(workspace)
    version = client.get_model_version("scenekin", "2")
    logged = client.get_logged_model(str(version.source).removeprefix("models:/"))
    assert {metric.key: metric.value for metric in logged.metrics} == {"ndcg_auc": 42.0, "ndcg_at_10": 0.5}
    folder = Path(mlflow.artifacts.download_artifacts(logged.model_uri, tracking_uri=workspace.mlflow_uri))
    assert {"numpy", "pandas"} <= set((folder / "requirements.txt").read_text().split())
    assert (folder / "input_example.json").exists()
    assert folder.is_relative_to(workspace.mlflow_artifacts)
    assert client.get_run(str(version.run_id)).info.status == "FINISHED"


def test_a_version_and_its_run_say_what_they_are(workspace: Workspace) -> None:
    client = tracking_client(workspace)
    version = client.get_model_version("scenekin", "2")
    run = client.get_run(str(version.run_id))
    assert run.info.run_name == "(V,V) · photos two · v2"
    for tags in (version.tags, run.data.tags):
        assert {name: tags[name] for name in ("method", "collection", "format")} == {
            "method": "v_v",
            "collection": "photos two",
            "format": "imagefolder",
        }
    assert "champion" in client.get_registered_model("scenekin").description


@pytest.mark.parametrize("point", [FaultPoint.MODEL_REGISTERED, FaultPoint.REASON_SET])
def test_an_interrupted_registration_is_completed_the_next_time(
    point: FaultPoint, empty: Workspace, package: ModelPackage, tmp_path: Path
) -> None:
    def interrupt(_: Path) -> None:
        raise KeyboardInterrupt

    workspace = Workspace(tmp_path / "workspace")
    shutil.copytree(empty.root, workspace.root)
    with inject(point, interrupt), pytest.raises(KeyboardInterrupt):
        train_and_register(workspace, "one", package)
    best, other = (model(workspace, digest) for digest in ("one", "beside one"))
    info = VersionInfo({"v_v": best, "regression": other}, "config of one", "# card of one")
    renewed = known_version(workspace, best, info)
    assert renewed is not None
    assert (renewed.version, renewed.aliases, renewed.reason) == (1, ("champion",), "the first version")
    assert renewed == find_model(workspace, "champion")
    assert described(workspace, renewed) == ("# card of one", "# card of one")


def test_a_model_of_doubtful_quality_is_no_champion_until_it_is_measured_well(
    empty: Workspace, package: ModelPackage, tmp_path: Path
) -> None:
    workspace = Workspace(tmp_path / "workspace")
    shutil.copytree(empty.root, workspace.root)
    first = train_and_register(workspace, "one", package, doubt="only 4 queries")
    reason = "not promoted, its quality is not established: only 4 queries"
    assert (first.aliases, first.reason, first.is_new) == (("challenger",), reason, True)
    with pytest.raises(NoChampion, match=r"none became champion; name another alias or a version\.$"):
        find_model(workspace, "champion")
    same = renew(workspace, first)  # measured by more queries
    assert (same.version, same.aliases, same.reason) == (1, ("champion",), "the first version")
    second = train_and_register(workspace, "two", package, doubt="only 4 queries")
    assert (second.aliases, second.reason) == (("challenger",), reason)
    assert find_model(workspace, "champion").version == 1


# Values that the registry lost.


@pytest.fixture
def registered(empty: Workspace, package: ModelPackage, tmp_path: Path) -> Workspace:
    """One registered model, to lose values of."""
    workspace = Workspace(tmp_path / "workspace")
    shutil.copytree(empty.root, workspace.root)
    train_and_register(workspace, "one", package)
    return workspace


def test_lost_values_of_a_version_are_replaced(registered: Workspace) -> None:
    before = find_model(registered, "champion")
    client = tracking_client(registered)
    for tag in ("reason", "candidates", "config", "method", "collection", "format"):
        client.delete_model_version_tag("scenekin", "1", tag)
    (registered.root / before.model.path / "config.json").write_text('{"method": "v_v"}')
    found = find_model(registered, "champion")
    assert (found.reason, found.config, found.candidates) == ("unknown", "{}", {"v_v": before.model})
    client.set_model_version_tag("scenekin", "1", "candidates", "[")
    (registered.root / before.model.path / "config.json").unlink()
    assert find_model(registered, "1").candidates == {"scenekin": before.model}
    client.delete_model_version_tag("scenekin", "1", "candidates")
    info = VersionInfo(before.candidates, before.config, "# card of one", {"format": "imagefolder"})
    assert known_version(registered, before.model, info) == before


def test_a_version_that_names_no_model_is_refused(registered: Workspace) -> None:
    tracking_client(registered).delete_model_version_tag("scenekin", "1", "digest")
    with pytest.raises(StorageError, match=r"^Version 1 in .*mlflow\.db does not name its model; run `scenekin train`"):
        find_model(registered, "champion")


def test_a_version_outlives_its_run_and_experiment(
    registered: Workspace, package: ModelPackage, tmp_path: Path
) -> None:
    before, client = find_model(registered, "champion"), tracking_client(registered)
    client.delete_run(before.run_id)
    client.delete_experiment(client.get_experiment_by_name("scenekin").experiment_id)
    client.update_model_version("scenekin", "1", description="")
    assert renew(registered, before) == before
    assert client.get_model_version("scenekin", "1").description == "# new"
    (tmp_path / "report").mkdir()
    log_files(registered, before.run_id, tmp_path / "report", "report")
    assert train_and_register(registered, "two", package).version == 2
