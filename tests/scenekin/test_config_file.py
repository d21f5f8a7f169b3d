from pathlib import Path

import pytest
import yaml

from flows.config import Config
from scenekin.config_file import preset_names, read_config
from tasks.errors import InputError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.yaml"


def refusal(file: Path | None, *assignments: str) -> str:
    with pytest.raises(InputError) as refused:
        read_config(file, list(assignments))
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


def test_without_anything_it_is_the_default() -> None:
    assert read_config(None, []) == Config()


def test_an_assignment_comes_after_the_file(file: Path) -> None:
    file.write_text("seed: 3\nv_v:\n  margin: 0.3\n  pooling: {kind: gem}\n")
    config = read_config(file, ["v_v.margin=0.4", "v_v.pooling.gem_power=2", "regression.dimension=8"])
    assert (config.seed, config.v_v.margin, config.regression.dimension) == (3, 0.4, 8)
    assert (config.v_v.pooling.kind, config.v_v.pooling.gem_power) == ("gem", 2.0)


def test_an_empty_file_changes_nothing(file: Path) -> None:
    file.write_text("# nothing yet\n")
    assert read_config(file, []) == Config()


def test_a_preset_is_taken_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = read_config(Path("paper"), ["v_v.margin=0.3"])
    assert (config.backbone.name, config.backbone.size) == ("resnet101", 576)
    assert config.candidates == ("wsabie", "v_v", "vt_v")
    assert (config.v_v.margin, config.vt_v.margin, config.wsabie.margin) == (0.3, 0.1, 0.1)
    assert {settings.backbone for settings in config.triplet_settings().values()} == {"finetuned"}
    assert (config.vt_v.hardest, config.vt_v.pooling.kind, config.vt_v.rate) == (100, "rmac_max", 1e-5)
    monkeypatch.chdir(tmp_path)
    Path("paper").write_text("seed: 4")
    assert read_config(Path("paper"), []).seed == 4


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_is_a_config(preset: str) -> None:
    assert set(read_config(Path(preset), []).candidates) >= {"wsabie", "v_v", "vt_v"}


def test_the_printed_defaults_are_a_config(file: Path) -> None:
    file.write_text(yaml.safe_dump(Config().model_dump(mode="json")))
    assert read_config(file, []) == Config()


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("v_v.learning_rate=1e-4", 1e-4),
        ("v_v.learning_rate=0.0001", 1e-4),
        ("v_v.learning_rate= 1.0e-4", 1e-4),
    ],
)
def test_numbers_may_be_written_as_people_do(assignment: str, value: float) -> None:
    assert read_config(None, [assignment]).v_v.learning_rate == value


def test_lists_and_nothing_can_be_assigned() -> None:
    config = read_config(None, ["candidates=[regression]", "regression.penalties=[1, 2.5]", "backbone.weights=null"])
    assert (config.candidates, config.regression.penalties, config.backbone.weights) == (
        ("regression",),
        (1.0, 2.5),
        None,
    )


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("sede=1", ["unknown setting sede", "scenekin config"]),
        ("v_v.margins=1", ["unknown setting v_v.margins"]),
        ("seed=many", ["seed", "'many'"]),
        ("v_v.margin=-1", ["v_v.margin", "-1", "greater than 0"]),
        ("v_v.pooling.kind=max", ["v_v.pooling.kind", "'max'", "'gem'"]),
        ("captions.language=klingon", ["captions.language", "'klingon'", "english"]),
        ("collection.test_fraction=0.95", ["test_fraction leave nothing to train on"]),
        ("v_v=3", ["v_v cannot be 3"]),
        ("seed.x=[1, 2", ["'[1, 2'"]),
        ("seed", ["seed", "key=value"]),
        ("=1", ["key=value"]),
    ],
)
def test_a_wrong_assignment_is_named(assignment: str, words: list[str]) -> None:
    sentence = refusal(None, assignment)
    assert [word for word in words if word not in sentence] == []


def test_a_value_has_no_settings_below_it(file: Path) -> None:
    file.write_text("seed: 3\n")
    assert "seed is a single setting, not a group" in refusal(file, "seed.x=1")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"seed: [1\n", "not valid YAML"),
        (b"a: b: c\n", "not valid YAML"),
        (b"- seed\n", "key: value"),
        (b"seed\n", "key: value"),
        (b"\xff\xfe\x00seed", "Cannot read the settings file"),
        (b"1: 2\n", "1"),
        (b"seed: !!python/object/apply:os.getcwd []\n", "not valid YAML"),
        (b"seed: 2024-01-01\n", "seed cannot be"),
    ],
)
def test_a_file_that_is_no_config_is_named(file: Path, content: bytes, words: str) -> None:
    file.write_bytes(content)
    assert words in refusal(file)


def test_a_file_has_to_be_there(tmp_path: Path) -> None:
    sentence = refusal(tmp_path / "none.yaml")
    assert f"No such settings file or preset: '{tmp_path / 'none.yaml'}'; presets are all-methods," in sentence
    assert f"Cannot read the settings file {tmp_path}: Is a directory." in refusal(tmp_path)


def test_all_that_is_wrong_is_said_at_once() -> None:
    sentence = refusal(None, "sede=1", "v_v.batch=0")
    assert "sede" in sentence
    assert "v_v.batch" in sentence
