"""The code that travels with a registered model, as a package with a name of its own.

The package is named by the digest of its code. So a registered model loads next to any module called `tasks`, and next
to a model that another version of scenekin registered.
"""

import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

MODULE = "tasks.registry.pyfunc"
FIRST_PARTY_IMPORT = re.compile(r"^(\s*from )(tasks\.[\w.]+ import )", re.MULTILINE)


def write_bundle(folder: Path, modules: Iterable[str]) -> Path:
    """Copy MODULE and the first-party modules it imports into a package in `folder`; return the model's definition."""
    sources = {module: _file_of(module) for module in sorted(modules)}
    texts = {module: file.read_text(encoding="utf-8") for module, file in sources.items()}
    package = f"scenekin_model_{hashlib.sha256(repr(sorted(texts.items())).encode()).hexdigest()[:12]}"
    for module, text in texts.items():
        path = Path(folder, package, *module.split("."))
        target = path / "__init__.py" if sources[module].name == "__init__.py" else path.with_suffix(".py")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(FIRST_PARTY_IMPORT.sub(rf"\g<1>{package}.\g<2>", text), encoding="utf-8")
        for parent in target.relative_to(folder).parents[:-1]:
            (folder / parent / "__init__.py").touch()
    return Path(folder, package, *MODULE.split(".")).with_suffix(".py")


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Make the packages in `folder` importable for a while: MLflow runs a model's definition when it logs the model."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in [
            name for name in sys.modules if name.partition(".")[0] in {path.name for path in folder.iterdir()}
        ]:
            del sys.modules[name]


def _file_of(module: str) -> Path:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin)
