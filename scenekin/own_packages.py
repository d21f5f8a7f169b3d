"""The packages that belong to scenekin but have common names: flows, storage and tasks."""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

OWN_PACKAGES = ("flows", "storage", "tasks")


def import_own_packages(home: Path) -> None:
    """Import these packages from `home`, whatever PYTHONPATH or the current folder holds under their names.

    Raises ImportError if another module has been imported under such a name.
    """
    for name in OWN_PACKAGES:
        module = sys.modules.get(name)
        if module is None:
            spec = PathFinder.find_spec(name, [str(home)])
            if spec is None or spec.loader is None:
                raise ImportError(f"scenekin is installed incompletely: no package {name!r} in {home}; reinstall it.")
            sys.modules[name] = module = module_from_spec(spec)
            spec.loader.exec_module(module)
        found = [Path(folder).resolve() for folder in getattr(module, "__path__", [])]
        if found != [(home / name).resolve()]:
            place = getattr(module, "__file__", None) or ", ".join(map(str, found)) or "another module"
            raise ImportError(
                f"scenekin has a package {name!r} of its own, but {place} is imported under that name; rename it, or "
                "use scenekin in another process."
            )
