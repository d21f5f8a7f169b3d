"""The documentation against the code: the commands, settings, files and sections that it names exist."""

import ast
import inspect
import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

import scenekin
from flows.config import Config
from scenekin.cli import app
from scenekin.config_file import preset_names, read_config
from tasks.collection.formats import READERS
from tasks.evaluation.methods import LABELS
from tests.test_architecture import STAGES

ROOT = Path(__file__).parents[1]
PACKAGES = ("flows", "tasks", "storage", "scenekin")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = [
    path
    for folder in (*PACKAGES, "tests", "benchmarks", "docs")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".yaml", ".j2", ".js", ".css"} and path != Path(__file__)
]
TEXTS = [*PAGES, *CODE, *(ROOT / name for name in ("Makefile", "pyproject.toml", "prefect.yaml", "CHANGELOG.md"))]
FILE = re.compile(r"[\w./*<>-]+\.(?:py|md|yaml|toml|css|js|j2)|[\w./*<>-]+/")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(page: Path) -> list[tuple[str, str]]:
    """Return (language, text) of each fenced block of a page."""
    return re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def spans(page: Path) -> list[str]:
    """Return the inline code of a page."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]


def shell_lines(page: Path) -> Iterator[list[str]]:
    """Yield the words of each command in the page's shell blocks."""
    for language, text in blocks(page):
        if language == "sh":
            for line in text.replace("\\\n", " ").splitlines():
                for command in re.split(r"&&| &$", line.partition(" #")[0]):
                    if words := shlex.split(command, comments=True):
                        yield words


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the arguments of every `scenekin` command of a page, in blocks and inline."""
    for words in (*shell_lines(page), *(shlex.split(span) for span in spans(page) if span.startswith("scenekin "))):
        if Path(words[0]).name == "scenekin":
            yield words[1:]


def parse(arguments: list[str]) -> Any:
    """Parse a command without running it; a command alone, as prose names it, only has to exist."""
    group: Any = typer.main.get_command(app)
    name, *rest = arguments
    if name.startswith("-"):
        assert name in {"--help", *(option for parameter in group.params for option in parameter.opts)}
        return None
    with group.make_context("scenekin", ["config"]) as context:
        command = group.get_command(context, name)
        assert command is not None, f"there is no command {name}"
        return command.make_context(name, rest, parent=context).params if rest else None


ALL_COMMANDS = [(name_of(page), arguments) for page in PAGES for arguments in commands(page)]


def test_the_documentation_has_commands() -> None:
    assert len(ALL_COMMANDS) > 40


@pytest.mark.parametrize(("page", "arguments"), ALL_COMMANDS, ids=lambda value: str(value)[:70])
def test_a_command_can_be_given(page: str, arguments: list[str]) -> None:  # noqa: ARG001  shown in the test's name
    given = parse(arguments) or {}
    read_config(None, given.get("set") or [])
    for option in ("config", "preset"):
        if (file := given.get(option)) is not None and not str(file).endswith(".yaml"):
            assert str(file) in (*preset_names(), "PRESET")


@pytest.mark.parametrize("arguments", [["serch", "x.jpg"], ["search", "--ad", "x"], ["index"], ["--verson"]])
def test_a_wrong_command_is_noticed(arguments: list[str]) -> None:
    with pytest.raises((AssertionError, Exception)):
        parse([*arguments, "--json"])


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_python_examples_use_what_exists(page: Path) -> None:
    for language, text in blocks(page):
        if language == "python":
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ImportFrom) and node.module == "scenekin":
                    assert {alias.name for alias in node.names} <= set(scenekin.__all__)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "search":
                    inspect.signature(scenekin.Searcher.search).bind(
                        None, *node.args, **{str(keyword.arg): keyword.value for keyword in node.keywords}
                    )


def test_every_command_is_documented() -> None:
    group: Any = typer.main.get_command(app)
    assert {arguments[0] for _, arguments in ALL_COMMANDS} >= group.commands.keys()


def test_other_commands_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    extras = PYPROJECT["project"]["optional-dependencies"].keys()
    programs = {entry.name for entry in entry_points(group="console_scripts")}
    for page in PAGES:
        for program, *words in shell_lines(page):
            if program == "make":
                assert set(words) <= targets, words
            elif Path(program).name == "python" and words[0] != "-m":
                assert (ROOT / words[0]).is_file(), words
            elif Path(program).name == "pip":
                assert set(re.findall(r"\w+", "".join(re.findall(r"\[(.*?)\]", " ".join(words))))) <= extras
            else:
                known = {"python", "source", "export", "curl", "git", *programs}
                assert Path(program).name in known, (name_of(page), program)


@pytest.mark.parametrize("path", CODE, ids=name_of)
def test_commands_and_settings_that_code_names_exist(path: Path) -> None:
    group: Any = typer.main.get_command(app)
    text = path.read_text(encoding="utf-8")
    assert set(re.findall(r"`scenekin ([a-z]+)", text)) <= group.commands.keys()
    if path.is_relative_to(ROOT / "tests"):
        return
    for section, name in re.findall(r"--set\W+([a-z_]+)\.([a-z_]+)", text):
        assert name in type(getattr(Config(), section)).model_fields, f"{section}.{name}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_settings_that_a_page_names_exist(page: Path) -> None:
    sections = "|".join(Config.model_fields)
    for span in spans(page):
        found = re.fullmatch(rf"((?:{sections})(?:\.[a-z_]+)+)(?:=(.*))?", span)
        if found and not FILE.fullmatch(found[1]) and not found[1].endswith((".txt", ".csv")):
            value: Any = Config()
            for part in found[1].split("."):
                value = value[0] if isinstance(value, tuple) else value
                assert part in type(value).model_fields, span
                value = getattr(value, part)
            if found[2]:
                read_config(None, [span])


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_yaml_examples_are_settings(page: Path) -> None:
    for language, text in blocks(page):
        if language == "yaml":
            Config.model_validate(yaml.safe_load(text))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_that_a_page_names_exist(page: Path) -> None:
    names = {path.name for path in (*TEXTS, *ROOT.glob(".*"))}
    for token in (token for span in spans(page) for token in FILE.findall(span) if FILE.fullmatch(span)):
        pattern = re.sub(r"<\w+>", "*", token)
        if "/" not in pattern:
            assert any(Path(name).match(pattern) for name in names), token
        elif pattern.partition("/")[0] in {*PACKAGES, "tests", "benchmarks", "docs"}:
            assert list(ROOT.glob(pattern)), token


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        assert target.exists(), link
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, link


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in seen:
            seen.add(page)
            links = re.findall(r"\]\(([^)#\s]+\.md)", page.read_text(encoding="utf-8"))
            waiting += [(page.parent / link).resolve() for link in links]
    assert set(PAGES) - seen == set()


def method_sections() -> set[int]:
    text = (ROOT / "docs/METHOD.md").read_text(encoding="utf-8")
    return {int(number) for number in re.findall(r"^## (\d+)\. ", text, re.MULTILINE)}


def test_the_method_is_numbered_without_gaps() -> None:
    assert method_sections() == set(range(1, 11))


@pytest.mark.parametrize("path", TEXTS, ids=name_of)
def test_sections_of_the_method_that_are_cited_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    cited = re.findall(r"METHOD\.md(?:,?\s+sections?)?\s+(\d+(?:(?:,\s*|\s+and\s+)\d+)*)", text)
    numbers = {int(number) for citation in cited for number in re.findall(r"\d+", citation)}
    assert numbers - method_sections() == set()


@pytest.mark.parametrize("path", TEXTS, ids=name_of)
def test_files_that_are_named_by_their_path_exist(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert [name for name in ("CLI.md", "PROCESS.md") if name in text] == []
    folders = "|".join((*PACKAGES, "tests", "benchmarks", "docs"))
    named = re.findall(rf"(?<![\w/.])((?:{folders})/[\w/.-]+\.(?:py|md|yaml|j2))\b", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_architecture_page_lists_the_packages_of_tasks_in_their_order() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    table = text.partition("| package of `tasks/` | contents |")[2].partition("\n\n")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == STAGES


def test_the_method_lists_the_baselines() -> None:
    text = (ROOT / "docs/METHOD.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| `(baseline_\w+)` \| ([^|]+) \|", text, re.MULTILINE))
    assert listed == {name: label for name, label in LABELS.items() if name.startswith("baseline_")}


def test_the_table_of_formats_is_complete() -> None:
    text = (ROOT / "docs/collections.md").read_text(encoding="utf-8")
    table = text.partition("| format | files |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)) == READERS.keys()


def test_every_decision_says_why_and_until_when() -> None:
    records = sorted((ROOT / "docs/decisions").glob("*.md"))
    assert [int(record.name[:4]) for record in records] == list(range(1, len(records) + 1))
    for record in records:
        text = record.read_text(encoding="utf-8")
        assert re.match(rf"# {int(record.name[:4])}\. .+\n\n\d{{4}}-\d\d-\d\d\n", text), record.name
        assert all(f"**{part}**" in text for part in ("Decision.", "Reason.", "What would change it."))
