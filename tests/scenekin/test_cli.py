import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import yaml
from PIL import Image

from tasks.demo import task as demo_task
from tasks.demo.collection import write_collection
from tests.command import SCENEKIN, Outcome, scenekin, scenekin_process
from tests.trained import Trained, registered_versions, write_config

CHECKED = {
    "format",
    "images",
    "usable",
    "with_captions",
    "captions",
    "splits",
    "problems",
    "problem_counts",
    "trainable",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Where there is no workspace yet."""
    return tmp_path / "workspace"


@pytest.fixture(scope="module")
def query(trained: Trained) -> Path:
    return sorted((trained.collection / "train").glob("*.jpg"))[0]


# What the commands say.


def test_check_tells_what_a_collection_holds(trained: Trained) -> None:
    answer = scenekin("check", trained.collection, "--json").answer
    assert answer.keys() == CHECKED
    assert (answer["format"], answer["images"], answer["usable"]) == ("imagefolder", 142, 141)
    assert (answer["with_captions"], answer["splits"]) == (140, {"train": 98, "validation": 21, "test": 21})
    assert answer["problem_counts"]["unreadable-image"] == 1
    (broken,) = (problem for problem in answer["problems"] if problem["kind"] == "unreadable-image")
    assert (broken["item"], broken["line"]) == ("train/zz-broken.jpg", 99)


def test_check_writes_nothing(trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(trained.collection.rglob("*"))
    assert "142 images listed, 141 usable" in scenekin("check", trained.collection).out
    assert sorted(trained.collection.rglob("*")) == before
    assert list(tmp_path.iterdir()) == []


def test_search_answers_as_promised(trained: Trained, query: Path) -> None:
    answer = scenekin("search", query, "--top", 3, "--workspace", trained.workspace, "--json").answer
    assert answer["model"] == {"name": "scenekin", "version": 1}
    assert answer["index"] == {"version": 1, "images": 141, "recall": 1}
    assert answer["query"] == {
        "image": str(query),
        "text": None,
        "added": [],
        "removed": [],
        "unknown_terms": [],
        "suggestions": {},
        "passed_over": {},
    }
    assert [result.keys() for result in answer["results"]] == 3 * [{"rank", "image_id", "path", "score", "caption"}]
    assert answer["results"][0]["image_id"] == f"train/{query.name}"
    assert answer["results"][0]["score"] >= 0.999


def test_check_takes_settings(tmp_path: Path) -> None:
    (tmp_path / "image_data.json").write_text('[{"image_id": 1}]')
    (tmp_path / "objects.json").write_text('[{"image_id": 1, "objects": [{"synsets": ["dog.n.01"]}]}]')
    Image.new("RGB", (8, 8)).save(tmp_path / "1.jpg")
    assert "collection.annotations=objects" in scenekin("check", tmp_path).sentence
    answer = scenekin("check", tmp_path, "--set", "collection.annotations=objects", "--json").answer
    assert (answer["format"], answer["captions"]) == ("visual-genome", 1)


def test_words_steer_a_search(trained: Trained) -> None:
    query = sorted((trained.collection / "train").glob("*.jpg"))[0]
    outcome = trained_search(trained, query, "--add", "zeppelin", "--add", "boat", "--remove", "boats and houses")
    assert outcome.answer["query"] == {
        "image": str(query),
        "text": None,
        "added": ["boat"],
        "removed": ["boats and houses"],
        "unknown_terms": ["zeppelin"],
        "suggestions": {"zeppelin": []},
        "passed_over": {"zeppelin": "not in any caption"},
    }
    notes = [line for line in outcome.err.splitlines() if "zeppelin" in line]
    assert notes == ["No training caption contains 'zeppelin'; it is ignored."]
    alone = trained_search(trained, "--text", "a boat").answer
    assert (alone["query"]["text"], len(alone["results"])) == ("a boat", 10)


def trained_search(trained: Trained, *arguments: object) -> Outcome:
    return scenekin("search", *arguments, "--workspace", trained.workspace, "--json")


def test_search_by_id_finds_the_image_first(trained: Trained) -> None:
    answer = scenekin("search", "--id", "extra/copy.jpg", "--workspace", trained.workspace, "--json").answer
    assert answer["query"]["image"] == "extra/copy.jpg"
    assert answer["results"][0]["image_id"] == "extra/copy.jpg"


def test_people_are_told_in_lines(trained: Trained, query: Path) -> None:
    found = scenekin("search", query, "--top", 2, "--workspace", trained.workspace)
    first = found.out.splitlines()[0]
    assert first.split()[:3] == ["1", "1.000", str(query)]
    assert re.search(r'\.jpg  "[A-Z].+"$', first)
    trained_again = scenekin("train", trained.collection, "--config", trained.config, "--workspace", trained.workspace)
    assert (
        "Model 1 (champion), regression: same model and candidates as before; nothing new was registered"
        in trained_again.out
    )
    assert "Stages" not in trained_again.out
    score = r"  Score \(0-100: do images with similar captions come first\?\): this model [\d.]+, the best untrained"
    assert re.search(rf"^{score} baseline [\d.]+, chance [\d.]+$", trained_again.out, re.MULTILINE)
    half = r"With half of the captioned training images \(49\), the score is [\d.]+ instead of [\d.]+: (more|no clear)"
    assert re.search(rf"^  {half}", trained_again.out, re.MULTILINE)
    auc, difference = r"[\d.]+ \([\d.]+ to [\d.]+\)", r"[+-]?[\d.]+ \([-\d.]+ to [-\d.]+\)"
    candidates = [line for line in trained_again.out.splitlines() if "trained in" in line]
    assert len(candidates) == 2
    for line in candidates:
        assert re.fullmatch(rf"  \S+ +{auc}, {difference} vs\. baseline, trained in \d+ s", line)
    assert re.search(rf"^  \S.+  {auc}, best untrained baseline$", trained_again.out, re.MULTILINE)
    evaluated = scenekin("evaluate", trained.collection, "--workspace", trained.workspace)
    assert "test: 21 queries, 0 skipped" in evaluated.out
    assert re.search(rf"^{score} baseline [\d.]+, chance [\d.]+$", evaluated.out, re.MULTILINE)
    assert "oracle: the ranking by the captions themselves" in evaluated.out
    assert re.search(
        r"regression: adding a word raises its share of the top 10 from \d+% to \d+% \(keeping 90%", evaluated.out
    )
    assert Path(evaluated.out.splitlines()[-1].removeprefix("Report: ")).is_file()


def test_the_papers_table_has_a_row_for_each_method(trained: Trained) -> None:
    command = "evaluate", trained.collection, "--workspace", trained.workspace
    first, _score, _verdict, head, *rows, cut, report = scenekin(*command, "--table").out.splitlines()
    assert first.startswith("scenekin version 1, ")
    assert cut.startswith("  Lists of 32, 64, 128 results cannot be measured, since a query ranks fewer images; ")
    answer = scenekin(*command, "--table", "--json").answer
    assert head.split() == ["method", "NDCG", "AUC", "PCC", "AUC"]
    listed = ["captions", "random", *(name for name in answer["methods"] if "baseline" in name), "v_v", "regression"]
    assert [row[:32].rstrip() for row in rows] == [answer["methods"][name]["label"] for name in listed]
    for name, row in zip(listed, rows, strict=True):
        told = [float(value) for value in re.findall(r"-?[\d.]+", row[32:])]
        figures = answer["methods"][name]
        expected = [figure for auc in ("ndcg_auc", "pcc_auc") for figure in (figures[auc], *figures[f"{auc}_interval"])]
        assert told == pytest.approx(expected, abs=0.051)
    assert len({row.index("(", 32) for row in rows}) == 1
    assert Path(report.removeprefix("Report: ")).is_file()


def test_the_workspace_is_taken_before_and_after_the_command(
    trained: Trained, query: Path, monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    after = scenekin("search", query, "--workspace", trained.workspace)
    assert scenekin("--workspace", trained.workspace, "search", query) == after
    assert scenekin("--workspace", workspace, "search", query, "--workspace", trained.workspace) == after
    monkeypatch.setenv("SCENEKIN_HOME", str(trained.workspace))
    assert scenekin("search", query) == after


def test_config_prints_what_config_reads(tmp_path: Path) -> None:
    from flows.config import Config
    from scenekin.config_file import read_config

    printed = scenekin("config").out
    (tmp_path / "config.yaml").write_text(printed)
    assert read_config(tmp_path / "config.yaml", []) == Config()
    assert list(yaml.safe_load(printed)) == list(Config.model_fields)


def test_the_demo_ends_with_commands_that_work(
    workspace: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demo_task, "write_collection", partial(write_collection, count=30))
    done = scenekin("demo", "--workspace", workspace)
    assert done.code == 0, done.err
    *_, report, _, _, command, _, serve = done.out.splitlines()
    assert Path(report.removeprefix("Report: ")).is_file()
    assert shlex.split(serve)[1:4] == ["serve", "--name", "demo"]
    name, *arguments = shlex.split(command)
    assert shutil.which(name)  # as typed, also where no environment is activated
    assert Path(name).name == "scenekin"
    assert scenekin(*arguments).out.split()[1] == "1.000"


def test_the_demo_leaves_other_folders_alone(workspace: Path) -> None:
    (workspace / "demo").mkdir(parents=True)
    (workspace / "demo" / "mine.txt").write_text("mine")
    assert "is not the demo's collection" in scenekin("demo", "--workspace", workspace).sentence
    assert (workspace / "demo" / "mine.txt").exists()


# As people run them.


SEARCH = """
import sys
from scenekin.cli import main
sys.argv = ["scenekin", *sys.argv[1:]]
try:
    main()
finally:
    print(sorted({"prefect", "mlflow", "distributed"} & sys.modules.keys()), file=sys.stderr)
"""


def test_search_needs_neither_prefect_nor_mlflow(trained: Trained, query: Path) -> None:
    command = [sys.executable, "-c", SEARCH, "search", query, "--workspace", trained.workspace, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
    assert json.loads(done.stdout)["results"][0]["image_id"] == f"train/{query.name}"


def test_a_process_ends_with_one_sentence(tmp_path: Path) -> None:
    none = tmp_path / "none"
    trained = scenekin_process("train", none, "--workspace", tmp_path / "w")
    assert trained.err == f"scenekin: No such file or folder: {none}; give the folder or file of a collection.\n"
    assert trained.sentence


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_file_names_may_be_anything(encoding: str, tmp_path: Path) -> None:
    for name in (b"caf\xc3\xa9.jpg", b"torn-\xff.jpg"):
        (tmp_path / os.fsdecode(name)).write_bytes(b"no picture")
    told = scenekin_process("check", tmp_path, environment={"PYTHONIOENCODING": encoding})
    assert (told.code, "torn-" in told.out) == (0, True)
    assert ("caf\\xe9.jpg" if encoding == "ascii" else "café.jpg") in told.out
    assert "café.jpg" in {problem["item"] for problem in scenekin("check", tmp_path, "--json").answer["problems"]}


def test_output_may_be_cut_off(tmp_path: Path) -> None:
    (tmp_path / "torn.jpg").write_bytes(b"no picture")
    done = subprocess.run(
        f"{shlex.quote(str(SCENEKIN))} check {shlex.quote(str(tmp_path))} | true",
        shell=True,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "scenekin:" not in done.stderr
    assert "Error" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["fly"],
        ["train"],
        ["search", "--top", "0", "x.jpg"],
        ["evaluate", "somewhere", "--split", "exam"],
        ["train", "somewhere", "--retries", "3"],
        ["index", "somewhere", "elsewhere"],
    ],
)
def test_wrong_usage_is_another_code(arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = scenekin(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert "Traceback" not in outcome.err
    assert outcome.err
    assert list(tmp_path.iterdir()) == []


# Bad input: one sentence, nothing registered.


def empty(folder: Path, _: Trained) -> str:
    folder.mkdir()
    return f"{folder} contains no files; give the folder that contains the images."


def missing(folder: Path, _: Trained) -> str:
    return f"No such file or folder: {folder}"


def no_captions(folder: Path, trained: Trained) -> str:
    shutil.copytree(trained.collection / "train", folder, ignore=shutil.ignore_patterns("*.jsonl"))
    return "0 captioned images, but at least 8"


def too_few_images(folder: Path, _: Trained) -> str:
    write_collection(folder, 9)
    return "The train split has 7 captioned images, but at least 8 are needed to learn from"


def nothing_to_judge_by(folder: Path, _: Trained) -> str:
    write_collection(folder, 20)
    return "The validation split has 3 captioned images, but at least 4 are needed to evaluate on"


def no_image_is_readable(folder: Path, _: Trained) -> str:
    write_collection(folder, 30)
    for image in folder.glob("*/*.jpg"):
        image.write_bytes(image.read_bytes()[:100])
    return "no usable images"


def no_image_is_there(folder: Path, _: Trained) -> str:
    write_collection(folder, 30)
    for image in folder.glob("*/*.jpg"):
        image.unlink()
    return "no usable images"


def a_text_file(folder: Path, _: Trained) -> str:
    folder.write_text("hello", encoding="utf-8")
    return "is not a caption file"


def captions_without_words(folder: Path, _: Trained) -> str:
    write_collection(folder, 30)
    for file in folder.glob("*/metadata.jsonl"):
        rows = [json.loads(line) | {"captions": ["?!"]} for line in file.read_text().splitlines()]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "The captions of the train split contain no words; check them with `scenekin check`."


COLLECTIONS = [
    empty,
    missing,
    no_captions,
    too_few_images,
    nothing_to_judge_by,
    no_image_is_readable,
    no_image_is_there,
    a_text_file,
    captions_without_words,
]


@pytest.mark.parametrize("make", COLLECTIONS, ids=lambda make: make.__name__)
def test_a_collection_that_cannot_be_learnt_from(
    make: Callable[[Path, Trained], str],
    trained: Trained,
    tmp_path: Path,
    workspace: Path,
) -> None:
    words = make(tmp_path / "collection", trained)
    command = "train", tmp_path / "collection", "--config", trained.config, "--workspace", workspace
    assert words in scenekin(*command).sentence
    assert registered_versions(workspace) == []


NEW_NAME = {"index": ["--name", "new"]}  # the index at hand belongs to another collection


@pytest.mark.parametrize("command", ["check", "train", "index", "evaluate"])
def test_a_collection_has_to_be_there(command: str, trained_copy: Trained, tmp_path: Path) -> None:
    options = [*NEW_NAME.get(command, []), "--workspace", trained_copy.workspace]
    assert f"No such file or folder: {tmp_path / 'none'}" in scenekin(command, tmp_path / "none", *options).sentence


def test_a_device_is_no_collection() -> None:
    assert scenekin("check", "/dev/null").sentence == "scenekin: Cannot read /dev/null: neither a file nor a folder."


@pytest.mark.parametrize("options", [["--format", "csv"], ["--images", "/none"]])
@pytest.mark.parametrize("command", ["check", "train", "index", "evaluate"])
def test_options_name_what_is_there(command: str, options: list[str], trained_copy: Trained) -> None:
    options = [*options, *NEW_NAME.get(command, []), "--workspace", str(trained_copy.workspace)]
    outcome = scenekin(command, trained_copy.collection, *options)
    if "--format" in options:
        assert "Unknown format 'csv'; choose one of flickr8k, " in outcome.usage_error
    else:
        assert "No such file or folder: /none" in outcome.sentence


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--set", "ridges.dimension=3"], "unknown setting ridges"),
        (["--set", "regression.dimension=wide"], "regression.dimension must be a whole number, not 'wide'"),
        (["--set", "regression.dimension"], "key=value"),
        (["--config", "/none.yaml"], "No such settings file or preset: '/none.yaml'; presets are all-methods, "),
        (["--set", "runtime.device=tpu"], "runtime.device must be 'auto', 'cuda', 'mps' or 'cpu', not 'tpu'"),
        (["--set", "backbone.name=resnet18", "--set", "backbone.weights=/none.pth"], "No such weights file: /none.pth"),
    ],
)
def test_settings_have_to_be_usable(options: list[str], words: str, trained_copy: Trained) -> None:
    outcome = scenekin("train", trained_copy.collection, *options, "--workspace", trained_copy.workspace)
    no_file = words.startswith("No such")
    assert words in (outcome.sentence if no_file else outcome.usage_error)
    assert registered_versions(trained_copy.workspace) == [1]


def test_settings_of_a_file_are_input_not_usage(tmp_path: Path) -> None:
    config = write_config(tmp_path / "config.yaml", {"seed": "one"})
    assert "seed must be a whole number" in scenekin("check", tmp_path, "--config", config).sentence
    assert "unknown setting sed" in scenekin("check", tmp_path, "--set", "sed=1").usage_error
    assert "no encoding is called 'kgb'" in scenekin("check", tmp_path, "--encoding", "kgb").usage_error


@pytest.mark.parametrize("command", ["train", "index", "evaluate"])
@pytest.mark.parametrize("place", ["/dev/null/workspace", "/dev/null", "/proc/workspace"])
def test_the_workspace_has_to_be_writable(
    command: str,
    place: str,
    trained: Trained,
) -> None:
    sentence = scenekin(command, trained.collection, "--workspace", place).sentence
    fault = f"Cannot write to the workspace {place}" if command == "train" else f"No such workspace: {place}"
    assert fault in sentence
    assert "--workspace" in sentence


def test_the_demos_workspace_has_to_be_writable() -> None:
    assert "Cannot write" in scenekin("--workspace", "/dev/null/workspace", "demo").sentence


def test_searching_makes_no_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"No such workspace: {tmp_path / '.scenekin'}" in scenekin("search", "--id", "x").sentence
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.jpg"], "No such file: 'none.jpg'; to search by text, use --text, or by an indexed image, --id."),
        (["."], "'.' is a folder; to search by each of its images, name a file with --out."),
        (["words.txt"], "Cannot decode 'words.txt': not an image, or of an unknown type"),
        (["--id", "x"], "No image 'x' in the index 'main'"),
        (["a dog on a beach"], "No such file: 'a dog on a beach'; to search by text, use --text"),
        (["d" * 5000], "to search by text, use --text"),
        (["extra/copy.jpg"], "or by an indexed image, --id."),
        (["words.txt", "--name", "other"], "no index 'other'"),
    ],
)
def test_a_query_has_to_be_an_image_and_an_index_there(
    arguments: list[str], words: str, trained: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("no picture", encoding="utf-8")
    assert words in scenekin("search", *arguments, "--workspace", trained.workspace, "--json").sentence


def test_a_model_comes_before_an_index(trained: Trained, workspace: Path) -> None:
    workspace.mkdir()
    for command in ("index", "evaluate"):
        sentence = scenekin(command, trained.collection, "--workspace", workspace).sentence
        assert f"No model has been trained in {workspace} yet; run `scenekin train`" in sentence


def test_the_query_comes_before_the_index(workspace: Path) -> None:
    assert "to search by text, use --text" in scenekin("search", "a dog", "--workspace", workspace).sentence


@pytest.mark.parametrize("command", ["train", "index", "evaluate"])
def test_a_mistyped_collection_leaves_no_workspace_behind(command: str, tmp_path: Path) -> None:
    outcome = scenekin(command, tmp_path / "phtoos", "--workspace", tmp_path / "workspace")
    assert f"No such file or folder: {tmp_path / 'phtoos'}" in outcome.sentence
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["train", "."], ["search", "--id", "x"], ["versions"]])
def test_a_workspace_that_is_a_file_is_named(command: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sentence = scenekin(*command, "--workspace", tmp_path / "file").sentence
    assert f"{tmp_path / 'file'} is a file, not a workspace folder" in sentence


@pytest.mark.parametrize("command", [[], ["check"], ["train"], ["index"], ["evaluate"], ["search"], ["versions"]])
def test_help_shows_no_value_for_flags(command: list[str]) -> None:
    assert "<bool>" not in scenekin(*command, "--help").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["search", "--top", "few"], "Invalid value for '--top': it must be a whole number, not 'few'."),
        (["search", "--recall", "2"], "Invalid value for '--recall': it must be at most 1, not '2'."),
        (["versions", "rolback"], "it must be 'list' or 'rollback', not 'rolback'. Did you mean 'rollback'?"),
        (["evaluate", "x", "--split", "exam"], "it must be 'train', 'validation' or 'test', not 'exam'."),
        (["search"], "Error Give exactly one query: "),
    ],
)
def test_usage_errors_are_plain_sentences(arguments: list[str], words: str) -> None:
    assert words in scenekin(*arguments).usage_error


@pytest.mark.parametrize("given", ["before", "in the environment"])
def test_training_names_its_commands_wherever_the_workspace_is_named(
    given: str, trained_copy: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ["--workspace", trained_copy.workspace] if given == "before" else []
    monkeypatch.setenv("SCENEKIN_HOME", "" if before else str(trained_copy.workspace))
    settings = ("--config", trained_copy.config, "--set", "candidates=[regression]", "--set", "regression.dimension=9")
    outcome = scenekin(
        *before, "train", trained_copy.collection, *settings, "--caption-column", "captions", "--verbose"
    )
    assert outcome.code == 0
    assert re.search(r"^  Stages: \d+, \d+ from the cache$", outcome.out, re.MULTILINE)
    place = f"{trained_copy.collection} --caption-column captions --workspace {trained_copy.workspace}"
    assert f"  To use it: scenekin index {place} --model 2\n" in outcome.out
