import ast
import sys
from importlib import import_module
from pathlib import Path

from tasks.registry.bundle import MODULE, importable, write_bundle
from tasks.source import closure


def test_the_package_imports_itself_alone(tmp_path: Path) -> None:
    definition = write_bundle(tmp_path, closure({MODULE}))
    (package,) = (path.name for path in tmp_path.iterdir())
    assert definition.is_relative_to(tmp_path / package)
    modules = list((tmp_path / package).rglob("*.py"))
    assert len(modules) > 10
    for file in modules:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert str(node.module).split(".")[0] not in {"tasks", "storage", "flows", "scenekin"}, file
            elif isinstance(node, ast.Import):
                assert not {alias.name.split(".")[0] for alias in node.names} & {
                    "tasks",
                    "storage",
                    "flows",
                    "scenekin",
                }
        assert (file.parent / "__init__.py").exists()


def test_the_name_belongs_to_the_code(tmp_path: Path) -> None:
    """Two versions of the code load in one process, since their packages have different names."""
    first, again = (write_bundle(tmp_path / name, closure({MODULE})) for name in "ab")
    other = write_bundle(tmp_path / "c", {MODULE, "tasks.errors", "tasks.source"})
    names = [path.relative_to(tmp_path).parts[1] for path in (first, again, other)]
    assert names[0] == names[1] != names[2]
    with importable(tmp_path / "a"), importable(tmp_path / "c"):
        loaded = [import_module(f"{name}.tasks.errors") for name in (names[0], names[2])]
        assert loaded[0].InputError is not loaded[1].InputError
    assert not [name for name in sys.modules if name.startswith("scenekin_model_")]
    assert str(tmp_path / "a") not in sys.path
