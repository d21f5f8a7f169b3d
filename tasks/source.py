"""Digest of the code that a function runs: its own syntax tree and those of the first-party modules it imports."""

import ast
import hashlib
import importlib.util
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

FIRST_PARTY = ("tasks", "storage")
# How stages are run and where artifacts are stored: no result depends on these.
BOOKKEEPING = frozenset(
    {"tasks.caching", "tasks.source", "tasks.progress", "storage.artifacts", "storage.faults", "storage.workspace"}
)


def source_digest(function: Callable[..., Any]) -> str:
    """Return the SHA-256 of the function's code and its closure, ignoring comments, formatting and docstrings."""
    module = inspect.getmodule(function)
    assert module is not None
    own, imports = _reached_within(ast.parse(module_text(module.__name__)), function.__name__)
    parts = {f"{module.__name__}:{index}": node for index, node in enumerate(own)}
    parts |= {name: _whole(module_text(name))[0] for name in closure(imports)}
    return hashlib.sha256(repr(sorted(parts.items())).encode()).hexdigest()


def closure_of(function: Callable[..., Any]) -> set[str]:
    """Return the first-party modules that the function depends on, apart from its own."""
    module = inspect.getmodule(function)
    assert module is not None
    return closure(_reached_within(ast.parse(module_text(module.__name__)), function.__name__)[1])


def closure(modules: set[str]) -> set[str]:
    """Return these modules and all first-party modules that they import, directly or indirectly."""
    reached: set[str] = set()
    waiting = set(modules) - BOOKKEEPING
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= _whole(module_text(name))[1] - reached - BOOKKEEPING
    return reached


def _reached_within(tree: ast.Module, name: str) -> tuple[list[str], set[str]]:
    """Return the dumped definitions that `name` needs within its module, and the first-party modules they import."""
    definitions: dict[str, ast.stmt] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            definitions[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
            definitions |= {name.id: node for name in names if isinstance(name.ctx, ast.Store)}
    bound = {
        alias.asname or alias.name: node
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    seen: set[str] = set()
    waiting = {name}
    while waiting:
        current = waiting.pop()
        seen.add(current)
        if current in definitions:
            waiting |= {node.id for node in ast.walk(definitions[current]) if isinstance(node, ast.Name)} - seen
    imports = {module for used in seen & bound.keys() for module in _modules_of(bound[used], only=used)}
    nested = {module for used in seen & definitions.keys() for module in _imports(definitions[used])}
    return [_dump(definitions[used]) for used in sorted(seen & definitions.keys())], imports | nested


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from _modules_of(node)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _is_first_party(alias.name))


def _modules_of(node: ast.ImportFrom, only: str | None = None) -> Iterator[str]:
    """Yield the modules that `from a import b` runs: a, and a.b if b is a module."""
    if node.module is None or not _is_first_party(node.module):
        return
    yield node.module
    for alias in node.names:
        if only in (None, alias.asname or alias.name) and _spec_file(f"{node.module}.{alias.name}") is not None:
            yield f"{node.module}.{alias.name}"


def _is_first_party(module: str) -> bool:
    return module.split(".", maxsplit=1)[0] in FIRST_PARTY


@cache
def _spec_file(module: str) -> Path | None:
    """Return the file of a module without importing its package."""
    package, *inner = module.split(".")
    spec = importlib.util.find_spec(package)
    for root in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(root).joinpath(*inner)
        for file in (path / "__init__.py", path.with_name(f"{path.name}.py")):
            if file.is_file():
                return file
    return None


def module_text(module: str) -> str:
    """Return the source of a first-party module, empty if there is none. Tests replace it by changed code."""
    file = _spec_file(module)
    return file.read_text(encoding="utf-8") if file is not None else ""


@cache
def _whole(text: str) -> tuple[str, frozenset[str]]:
    """Return a whole module, dumped, and the first-party modules it imports; cached, as stages share most modules."""
    tree = ast.parse(text)
    imports = frozenset(_imports(tree))
    return _dump(tree), imports


def _dump(tree: ast.AST) -> str:
    """Dump the tree without docstrings, on which no result depends."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and body:
            first = body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = body[1:]
    return ast.dump(tree)
