import importlib
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tasks import source
from tasks.source import BOOKKEEPING, closure_of, source_digest

HOUSE = {
    "__init__.py": "",
    "stage.py": '''
        """A stage's module."""

        import json
        from house.first import double
        from house.kinds import Kind
        from house.ledger import account
        from house.unreached import other
        from house import plain

        FACTOR, OFFSET = 2, 1
        UNUSED = 5


        def run(value: int, kind: Kind = None) -> int:
            """What the stage does."""
            from house.lazy import late

            account(value)
            return late(helper(value)) + OFFSET


        def helper(value: int) -> int:
            return plain.same(double(value) * FACTOR)


        def not_run(value: int) -> int:
            return other(value) + UNUSED
    ''',
    "first.py": '''
        from house.second import SECOND


        def double(value: int) -> int:
            """Twice the value."""
            return SECOND * value
    ''',
    "second.py": "SECOND = 2\n",
    "kinds.py": "class Kind:\n    pass\n",
    "plain.py": "def same(value):\n    return value\n",
    "lazy.py": "def late(value):\n    return value\n",
    "ledger.py": "import house.books\n\n\ndef account(value):\n    return value\n",
    "books.py": "BOOKS = 1\n",
    "unreached.py": "def other(value):\n    return value\n",
}
REACHED = {"house", "house.first", "house.second", "house.kinds", "house.plain", "house.lazy"}


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of our own in a folder, of which `ledger` is bookkeeping."""
    (tmp_path / "house").mkdir()
    for name, text in HOUSE.items():
        (tmp_path / "house" / name).write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(source, "FIRST_PARTY", ("house",))
    monkeypatch.setattr(source, "BOOKKEEPING", frozenset({"house.ledger"}))
    source._spec_file.cache_clear()
    yield tmp_path / "house"
    source._spec_file.cache_clear()
    for name in [name for name in sys.modules if name.split(".")[0] == "house"]:
        del sys.modules[name]


def run_of_house() -> Callable[..., Any]:
    function: Callable[..., Any] = importlib.import_module("house.stage").run
    return function


def edited(house: Path, name: str, old: str, new: str) -> bool:
    """Whether the digest changes with this edit, which is then taken back."""
    before = source_digest(run_of_house())
    text = (house / name).read_text()
    assert old in text
    (house / name).write_text(text.replace(old, new))
    after = source_digest(run_of_house())
    (house / name).write_text(text)
    assert source_digest(run_of_house()) == before
    return after != before


def imported_by(module: str) -> set[str]:
    """The first-party modules, packages aside, that importing a module for the first time runs."""

    def ours() -> dict[str, ModuleType]:
        return {name: loaded for name, loaded in sys.modules.items() if source._is_first_party(name)}

    kept = ours()
    for name in kept:
        del sys.modules[name]
    try:
        importlib.import_module(module)
        return {name for name, loaded in ours().items() if not hasattr(loaded, "__path__")} - {module}
    finally:
        for name in ours():
            del sys.modules[name]
        sys.modules.update(kept)


@pytest.mark.usefixtures("house")
def test_the_closure_is_what_the_function_reaches() -> None:
    assert closure_of(run_of_house()) == REACHED


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("stage.py", "+ OFFSET", "- OFFSET"),
        ("stage.py", "double(value) * FACTOR", "double(value) + FACTOR"),
        ("stage.py", "2, 1", "3, 1"),
        ("first.py", "SECOND * value", "SECOND + value"),
        ("second.py", "2", "3"),
        ("kinds.py", "pass", "kind = 1"),
        ("plain.py", "return value", "return -value"),
        ("lazy.py", "return value", "return -value"),
        ("__init__.py", "", "SETTING = 1\n"),
    ],
)
def test_a_changed_line_that_is_reached_changes_the_digest(house: Path, name: str, old: str, new: str) -> None:
    assert edited(house, name, old, new)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("stage.py", "What the stage does.", "Said in other words."),
        ("stage.py", "A stage's module.", "Something else."),
        ("first.py", "Twice the value.", "Two times the value."),
        ("first.py", "SECOND * value", "(SECOND   *\n        value)  # twice"),
        ("second.py", "SECOND", "# a comment\n\nSECOND"),
        ("stage.py", "import json\n", ""),
    ],
)
def test_comments_formatting_and_docstrings_do_not_count(house: Path, name: str, old: str, new: str) -> None:
    assert not edited(house, name, old, new)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("unreached.py", "return value", "return -value"),
        ("stage.py", "other(value) + UNUSED", "other(value) - UNUSED"),
        ("stage.py", "UNUSED = 5", "UNUSED = 6"),
        ("ledger.py", "return value", "return -value"),
        ("books.py", "1", "2"),
    ],
)
def test_what_is_not_reached_does_not_count(house: Path, name: str, old: str, new: str) -> None:
    assert not edited(house, name, old, new)


@pytest.mark.usefixtures("house")
def test_functions_of_one_module_have_their_own_digests() -> None:
    module = importlib.import_module("house.stage")
    assert source_digest(module.run) != source_digest(module.helper)
    assert closure_of(module.not_run) == {"house.unreached"}


@pytest.mark.usefixtures("house")
def test_in_a_small_package_the_closure_is_what_importing_runs() -> None:
    reached = {name for name in closure_of(run_of_house()) if name != "house"}
    unreached = {"house.unreached", "house.ledger", "house.books"}
    assert reached - {"house.lazy"} == imported_by("house.stage") - unreached


@pytest.mark.parametrize(
    ("module", "function"),
    [
        ("tasks.captions.tfidf", "tfidf"),
        ("tasks.metrics.truth", "make_truth"),
        ("tasks.features.extract", "extract"),
        ("tasks.embedding.embed", "embed_images"),
        ("tasks.training.triplet_loop", "train_triplets"),
    ],
)
def test_the_closure_is_what_importing_runs(module: str, function: str) -> None:
    found = closure_of(getattr(importlib.import_module(module), function))
    assert found == imported_by(module) - BOOKKEEPING
    assert module not in found


def test_importing_anew_leaves_the_modules_as_they_were() -> None:
    before = importlib.import_module("tasks.captions.tfidf")
    imported_by("tasks.captions.tfidf")
    assert importlib.import_module("tasks.captions.tfidf") is before
