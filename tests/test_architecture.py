"""The rules of docs/architecture.md, checked on the code: imports, packaging, docstrings, length of functions."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from setuptools import find_packages

from scenekin.extras import EXTRA_OF

ROOT = Path(__file__).parents[1]
OURS = ("flows", "tasks", "storage", "scenekin")
STAGES = (
    *("images", "collection", "demo", "captions", "surrogate", "metrics", "model", "features"),
    *("embedding", "training", "search", "evaluation", "registry"),
)
PLAIN = {"errors", "invalid", "phrases"}  # modules of `tasks` that all others may import
PYFUNC = "tasks.registry.pyfunc"  # executed by MLflow: the one pure module that may import it
FLOWS_MAY = sys.stdlib_module_names | {
    *("pydantic", "tasks.caching", "tasks.errors", "tasks.invalid", "tasks.phrases", "storage.errors"),
    *("storage.settings", "storage.artifacts", "storage.source.tree", "storage.workspace", "storage.models"),
}
DEPLOYED = "flows.deployed"  # the one module that imports Prefect
NEEDS_EXTRA = {
    "train": ("tasks.demo", "tasks.surrogate", "tasks.training"),
    "serve": ("scenekin.commands.serve", "scenekin.web"),
    "deploy": (DEPLOYED,),
}
MAX_LINES = 60  # of a function

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in OURS
    for path in sorted(Path(ROOT, package).rglob("*.py"))
}


@cache
def tree(module: str) -> ast.Module:
    """Return a module's syntax tree without imports for type checkers."""
    parsed = ast.parse(FILES[module].read_text(encoding="utf-8"))
    for node in ast.walk(parsed):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    return parsed


@cache
def imported(module: str) -> frozenset[str]:
    """Return all imports of a module, at its top or inside functions: our modules in full, others by their package."""

    def names() -> Iterator[str]:
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{module} uses a relative import"
                inside = {f"{node.module}.{alias.name}" for alias in node.names} & FILES.keys()
                yield from inside or {str(node.module)}

    return frozenset(name.partition(".")[0] if room(name) == "library" else name for name in names())


def room(name: str) -> str:
    """Return the row of the table that a module belongs to, `library` if it is not ours."""
    match name.split("."):
        case ["tasks", stage, *rest] if rest or stage in STAGES:
            return (
                "task"
                if rest and (rest[0] in {"task", "inputs", "stage", "candidate"} or rest[0].endswith("_stage"))
                else "pure"
            )
        case ["tasks", shared]:
            return shared
        case [package, *_]:
            return package if package in OURS else "library"
    raise AssertionError(name)


def is_earlier(name: str, module: str) -> bool:
    """Return whether `name` belongs to the same stage as `module` or an earlier one."""
    return STAGES.index(name.split(".")[1]) <= STAGES.index(module.split(".")[1])


def flow_may(module: str, name: str) -> bool:
    config = room(name) == "pure" and name.endswith(".config")
    prefect = name == "prefect" and module == DEPLOYED
    return config or prefect or room(name) in {"flows", "task"} or name in FLOWS_MAY


def task_may(module: str, name: str) -> bool:
    if room(name) in {"pure", "task"}:
        return is_earlier(name, module)
    return room(name) in {"storage", "caching", "progress", "source", *PLAIN} or is_plain(name)


def pure_may(module: str, name: str) -> bool:
    if room(name) == "pure":
        return is_earlier(name, module)
    return room(name) in PLAIN or is_plain(name) or (module, name) == (PYFUNC, "mlflow")


def is_plain(name: str) -> bool:
    return room(name) == "library" and name not in {"prefect", "mlflow"}


MAY_IMPORT: dict[str, Callable[[str, str], bool]] = {
    "storage": lambda _, name: room(name) in {"storage", "library"} and name != "prefect",
    "pure": pure_may,
    "task": task_may,
    "flows": flow_may,
    "scenekin": lambda _, name: name != "tests",
    "caching": lambda _, name: room(name) in {"storage", "source"} or is_plain(name),
    **dict.fromkeys(["progress", "source", "tasks", *PLAIN], lambda _, name: is_plain(name)),
}


def may_import(module: str, name: str) -> bool:
    """Look up in the table whether `module` may import `name`."""
    return MAY_IMPORT[room(module)](module, name)


def functions(module: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    """Yield functions and classes of a module, and methods of its classes, by their dotted names."""
    waiting = [(module, node) for node in tree(module).body]
    for home, node in waiting:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield f"{home}.{node.name}", node
            if isinstance(node, ast.ClassDef):
                waiting += [(f"{home}.{node.name}", inner) for inner in node.body]


def test_the_stages_are_the_folders_of_tasks() -> None:
    assert {module.split(".")[1] for module in FILES if room(module) in {"pure", "task"}} == set(STAGES)


@pytest.mark.parametrize("module", FILES)
def test_a_module_imports_only_what_the_table_allows(module: str) -> None:
    assert {name for name in imported(module) if not may_import(module, name)} == set()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("storage.index.versions", "tasks.errors"),
        ("storage.index.versions", "prefect"),
        ("tasks.model.head", "storage.tables"),
        ("tasks.model.head", "tasks.training.mining"),
        ("tasks.model.head", "tasks.model.task"),
        ("tasks.model.head", "tasks.progress"),
        ("tasks.model.head", "mlflow"),
        ("tasks.training.task", "tasks.search.task"),
        ("tasks.training.task", "mlflow"),
        ("tasks.training.task", "flows.config"),
        ("flows.train", "tasks.model.persistence"),
        ("flows.train", "storage.registry"),
        ("flows.train", "torch"),
        ("tasks.errors", "tasks.model.head"),
    ],
)
def test_the_table_forbids(module: str, name: str) -> None:
    assert not may_import(module, name)


@pytest.mark.parametrize("module", FILES)
def test_texts_are_read_and_written_as_utf8(module: str) -> None:
    """Whatever the locale. Ruff's PLW1514 sees it only where it knows that an object is a path."""
    calls = (node for node in ast.walk(tree(module)) if isinstance(node, ast.Call))
    texts = [call for call in calls if ast.unparse(call.func).endswith((".read_text", ".write_text", "os.fdopen"))]
    assert [ast.unparse(call) for call in texts if all(option.arg != "encoding" for option in call.keywords)] == []


@pytest.mark.parametrize("module", [module for module in FILES if room(module) == "pure"])
def test_pure_modules_do_not_read_the_environment(module: str) -> None:
    names = {ast.unparse(node) for node in ast.walk(tree(module)) if isinstance(node, ast.Attribute | ast.Name)}
    assert not names & {"os.environ", "os.getenv", "environ", "getenv"}


@pytest.mark.parametrize("extra", ["train", "serve", "deploy"])
def test_an_extra_is_imported_only_where_it_is_needed(extra: str) -> None:
    modules = {name for name, home in EXTRA_OF.items() if home == extra}
    distributions = {
        distribution for module in modules for distribution in packages_distributions().get(module, [module])
    }
    declared = PYPROJECT["project"]["optional-dependencies"][extra]
    assert {Requirement(text).name for text in declared} == distributions
    users = {module for module in FILES if imported(module) & modules}
    assert {module for module in users if not module.startswith(NEEDS_EXTRA[extra])} == set()


def test_there_are_no_import_cycles() -> None:
    TopologicalSorter({module: imported(module) & FILES.keys() for module in FILES}).prepare()


@pytest.mark.parametrize(
    "command", ["from scenekin import Searcher, ndcg", "search()", "import scenekin.web.app, tasks.search.heat"]
)
def test_searching_loads_no_library_of_training(command: str, tmp_path: Path) -> None:
    script = f"""
import sys

def search():
    from scenekin.cli import app
    app(["search", "query.jpg", "--workspace", {str(tmp_path)!r}], standalone_mode=False)

try:
    {command}
except BaseException as error:
    assert isinstance(error, SystemExit | __import__("click").exceptions.Exit), repr(error)
print(sorted({{"prefect", "mlflow", "matplotlib", "flows.train", "scenekin"}} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "['scenekin']"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("flow", ["train", "index", "evaluate"])
def test_a_fully_cached_run_imports_no_heavy_library(flow: str) -> None:
    heavy = {"prefect", "torch", "sklearn", "matplotlib", "nltk", "timm", "distributed", "sparse_dot_topn"}
    script = f"""
import sys, flows.{flow}
from tasks.caching import Stage

stages = [value for name in list(sys.modules) if name.endswith(".task")
          for value in vars(sys.modules[name]).values() if isinstance(value, Stage)]
assert all(stage.key() for stage in stages) and stages
print(sorted({heavy!r} & sys.modules.keys()))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "[]"


def test_every_package_is_distributed() -> None:
    packaged = find_packages(str(ROOT), include=PYPROJECT["tool"]["setuptools"]["packages"]["find"]["include"])
    folders = {".".join(path.parent.relative_to(ROOT).parts) for path in FILES.values()}
    assert set(packaged) == folders


def test_every_data_file_is_distributed() -> None:
    data = PYPROJECT["tool"]["setuptools"]["package-data"]
    for package in OURS:
        for path in (ROOT / package).rglob("*.*"):
            if path.is_file() and path.suffix not in {".py", ".pyc"}:
                home = ".".join(path.parent.relative_to(ROOT).parts)
                assert any(fnmatch(path.name, pattern) for pattern in data.get(home, [])), path


@pytest.mark.parametrize("module", FILES)
def test_everything_public_has_a_docstring(module: str) -> None:
    silent = [
        name
        for name, node in functions(module)
        if not any(part.startswith("_") for part in name.split(".")) and not ast.get_docstring(node)
    ]
    assert silent == []
    assert ast.get_docstring(tree(module)) or not tree(module).body


def test_functions_stay_short() -> None:
    lines = {
        name: int(node.end_lineno or 0) - node.lineno + 1
        for module in FILES
        for name, node in functions(module)
        if not isinstance(node, ast.ClassDef)
    }
    assert [name for name, count in lines.items() if count > MAX_LINES] == []


def test_the_development_extra_writes_out_the_others() -> None:
    extras = PYPROJECT["project"]["optional-dependencies"]
    listed = {requirement for name, extra in extras.items() if name not in {"dev", "gs"} for requirement in extra}
    assert listed - {*extras["dev"]} == set()
