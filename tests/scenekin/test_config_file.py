from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from flows.config import Config
from scenekin.config_file import config_text, preset_names, read_config
from tasks.errors import InputError
from tasks.model.config import BackboneConfig


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


def test_without_a_file_or_assignments_the_defaults_hold() -> None:
    assert read_config(None, []) == Config()


def test_assignments_override_the_file(file: Path) -> None:
    file.write_text("seed: 3\nv_v:\n  margin: 0.3\n  pooling: {kind: gem}\n", encoding="utf-8")
    config = read_config(file, ["v_v.margin=0.4", "v_v.pooling.gem_power=2", "regression.dimension=8"])
    assert (config.seed, config.v_v.margin, config.regression.dimension) == (3, 0.4, 8)
    assert (config.v_v.pooling.kind, config.v_v.pooling.gem_power) == ("gem", 2.0)


def test_an_empty_file_changes_nothing(file: Path) -> None:
    file.write_text("# nothing yet\n", encoding="utf-8")
    assert read_config(file, []) == Config()


def test_a_preset_is_taken_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = read_config(Path("paper"), ["v_v.margin=0.3"])
    assert config.backbone == (BackboneConfig(name="resnet101", size=576),)
    assert config.candidates == ("wsabie", "v_v", "vt_v")
    assert (config.v_v.margin, config.vt_v.margin, config.wsabie.margin) == (0.3, 0.1, 0.1)
    assert {settings.backbone for settings in config.triplet_settings().values()} == {"finetuned"}
    assert (config.vt_v.hardest, config.vt_v.pooling.kind, config.vt_v.rate) == (100, "rmac_max", 1e-5)
    monkeypatch.chdir(tmp_path)
    Path("paper").write_text("seed: 4", encoding="utf-8")
    assert read_config(Path("paper"), []).seed == 4


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_is_a_config(preset: str) -> None:
    config = read_config(Path(preset), [])
    assert set(config.candidates) >= ({"regression", "joined"} if preset == "best" else {"wsabie", "v_v", "vt_v"})


@pytest.mark.parametrize("preset", [None, *map(Path, preset_names())])
def test_printed_settings_can_be_read_back(preset: Path | None, file: Path) -> None:
    config = read_config(preset, [])
    file.write_text(config_text(config), encoding="utf-8")
    assert read_config(file, []) == config


def test_printed_settings_include_every_value_but_repeat_no_section() -> None:
    text = config_text(read_config(Path("paper"), []))
    assert yaml.safe_load(text) == read_config(Path("paper"), []).model_dump(mode="json")
    assert text.count("hardest: 100") == 1
    assert "vt_v: *v_v  # a YAML alias: in this file, changes of v_v apply here too\n" in text
    assert config_text(read_config(Path("paper"), ["wsabie.margin=0.4"])).count("hardest: 100") == 2


def sections(config: BaseModel) -> list[BaseModel]:
    values = [each for _, value in config for each in (value if isinstance(value, tuple) else (value,))]
    return [config, *(inner for value in values if isinstance(value, BaseModel) for inner in sections(value))]


def test_every_printed_setting_is_preceded_by_its_meaning() -> None:
    lines = [line.strip().removeprefix("- ") for line in config_text(Config()).splitlines()]
    assert all(line.startswith("# ") and line.endswith((".", ")")) for line in lines[::2])
    assert not any(line.startswith("#") for line in lines[1::2])
    fields = [field for section in sections(Config()) for field in type(section).model_fields.values()]
    assert [field for field in fields if not field.description] == []


@pytest.mark.parametrize(
    ("former", "current"),
    [("triplets.margin", "v_v.margin"), ("joint.margin", "vt_v.margin"), ("ridge.dimension", "regression.dimension")],
)
def test_former_section_names_still_work(former: str, current: str, file: Path) -> None:
    expected = read_config(None, [f"{current}=5"])
    assert read_config(None, [f"{former}=5"]) == expected
    section, name = former.split(".")
    file.write_text(f"{section}: {{{name}: 5}}\n", encoding="utf-8")
    assert read_config(file, []) == expected
    assert read_config(file, [f"{current}=6"]) == read_config(None, [f"{current}=6"])


def test_settings_of_models_registered_under_former_names_are_read() -> None:
    config = Config.model_validate_json('{"triplets": {"margin": 0.3}, "ridge": {"kernel": "linear"}}')
    assert (config.v_v.margin, config.regression.kernel) == (0.3, "linear")


def test_both_names_of_a_section_are_refused(file: Path) -> None:
    file.write_text("triplets: {margin: 0.3}\nv_v: {margin: 0.4}\n", encoding="utf-8")
    assert "triplets is the former name of v_v" in refusal(file)


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("v_v.learning_rate=1e-4", 1e-4),
        ("v_v.learning_rate=0.0001", 1e-4),
        ("v_v.learning_rate= 1.0e-4", 1e-4),
    ],
)
def test_numbers_are_read_in_every_common_form(assignment: str, value: float) -> None:
    assert read_config(None, [assignment]).v_v.learning_rate == value


def test_lists_and_null_can_be_assigned() -> None:
    config = read_config(None, ["candidates=[regression]", "regression.penalties=[1, 2.5]", "backbone.weights=null"])
    assert (config.candidates, config.regression.penalties, config.backbone[0].weights) == (
        ("regression",),
        (1.0, 2.5),
        None,
    )


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("sede=1", ["unknown setting sede", "scenekin config"]),
        ("v_v.margins=1", ["unknown setting v_v.margins"]),
        ("seed=many", ["seed must be a whole number, not 'many'"]),
        ("v_v.margin=x", ["v_v.margin must be a number, not 'x'."]),
        (
            "candidates=[foo]",
            [
                "each of candidates must be 'v_v', 'vt_v', 'wsabie', 'regression', 'finetuned', 'joined' or "
                "'untrained', not 'foo'."
            ],
        ),
        ("candidates=foo", ["candidates must be a list, such as [foo], not 'foo'."]),
        ("candidates=[]", ["candidates must not be empty"]),
        ("candidates=[v_v, v_v]", ["candidates: each candidate may be named only once"]),
        ("regression=1", ["regression is a section"]),
        ("regression.pooling.kind=rmac_max", ["regression: pooling.kind must be blocks, gap or gem, not 'rmac_max'"]),
        ("v_v.margin=-1", ["v_v.margin", "-1", "greater than 0,"]),
        ("v_v.pooling.kind=max", ["v_v.pooling.kind", "'max'", "'gem'"]),
        ("captions.language=klingon", ["captions.language", "'klingon'", "english"]),
        ("collection.test_fraction=0.95", ["test_fraction leave nothing to train on"]),
        ("v_v=3", ["v_v is a section"]),
        ("stop_hopeless=maybe", ["stop_hopeless must be true or false, not 'maybe'."]),
        ("regression.penalties=[1, .inf]", ["each of regression.penalties must be a finite number, not inf."]),
        ("v_v.learning_rate=1e31", ["v_v.learning_rate must be at most 1e+30, not '1e31'."]),
        ("collection.image_column=3", ["collection.image_column must be text, not 3."]),
        ("collection.caption_column=3", ["collection.caption_column: must be the name of a column or a list of names"]),
        ("collection.encoding=gbkk", ["collection.encoding: no encoding is called 'gbkk'; examples"]),
        ("seed=null", ["seed must be a whole number, not null."]),
        ("seed.x=[1, 2", ["'[1, 2'"]),
        ("seed", ["seed", "key=value"]),
        ("=1", ["key=value"]),
    ],
)
def test_an_invalid_assignment_is_named(assignment: str, words: list[str]) -> None:
    sentence = refusal(None, assignment)
    assert [word for word in words if word not in sentence] == []


def test_a_single_value_has_no_settings_below_it(file: Path) -> None:
    file.write_text("seed: 3\n", encoding="utf-8")
    assert "seed is a single setting, not a section" in refusal(file, "seed.x=1")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"seed: [1\n", "not valid YAML: line 2, column 1: expected"),
        (b"a: b: c\n", "not valid YAML"),
        (b"- seed\n", "key: value"),
        (b"seed\n", "key: value"),
        (b"\xff\xfe\x00seed", "it is not a text file in UTF-8"),
        (b"1: 2\n", "unknown setting 1 "),
        (b"seed: !!python/object/apply:os.getcwd []\n", "not valid YAML"),
        (b"seed: 2024-01-01\n", "seed must be a whole number, not 2024-01-01."),
    ],
)
def test_an_invalid_file_is_named(file: Path, content: bytes, words: str) -> None:
    file.write_bytes(content)
    assert words in refusal(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    sentence = refusal(tmp_path / "none.yaml")
    assert f"No such settings file or preset: '{tmp_path / 'none.yaml'}'; presets are all-methods," in sentence
    assert f"Cannot read the settings file {tmp_path}: Is a directory." in refusal(tmp_path)


def test_all_errors_are_reported_at_once() -> None:
    sentence = refusal(None, "sede=1", "v_v.batch=0")
    assert "sede" in sentence
    assert "v_v.batch" in sentence


@pytest.mark.parametrize(
    ("command", "assignment", "has_effect"),
    [
        ("check", "collection.split_seed=1", True),
        ("check", "seed=1", False),
        ("evaluate", "runtime.workers=1", True),
        ("evaluate", "collection.test_fraction=0.2", False),
        ("index", "index.keep=1", True),
        ("index", "ridge.dimension=8", False),
        ("index", "backbone.mirror=true", False),
        ("index --untrained", "backbone.mirror=true", True),
        ("train", "ridge.dimension=8", True),
        ("train", "index.keep=1", False),
    ],
)
def test_an_assignment_without_effect_is_noted(
    command: str, assignment: str, has_effect: bool, caplog: pytest.LogCaptureFixture, file: Path
) -> None:
    file.write_text("seed: 3\nindex: {keep: 2}\n", encoding="utf-8")  # a file may serve several commands
    read_config(file, [assignment], command)
    note = f"--set {assignment} has no effect on `scenekin {command}`."
    assert [record.getMessage() for record in caplog.records] == ([] if has_effect else [note])


def test_a_list_of_networks_is_printed_and_read_back(file: Path) -> None:
    file.write_text("backbone: [{name: efficientnet_lite2, size: 288}, {name: efficientnet_lite0}]", encoding="utf-8")
    config = read_config(file, [])
    file.write_text(config_text(config), encoding="utf-8")
    assert read_config(file, []) == config
    with pytest.raises(InputError, match="backbone is a list in the settings file; change it there"):
        read_config(file, ["backbone.size=320"])
