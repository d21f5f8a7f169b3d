"""A configuration from a YAML file and `key=value` words, checked in one sentence."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from flows.config import Config
from tasks.errors import InputError

PRESETS = files("flows") / "presets"


def read_config(file: Path | None, assignments: list[str]) -> Config:
    """The defaults, changed by the file, then by assignments such as `triplets.margin=0.1`. Raises InputError.

    Where there is no such file, a preset of that name is taken.
    """
    values = _read_yaml(file) if file is not None else {}
    for assignment in assignments:
        _assign(values, assignment)
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise InputError(_sentence(error)) from None


def preset_names() -> list[str]:
    """The presets that `--config` takes by name."""
    return sorted(path.name.removesuffix(".yaml") for path in PRESETS.iterdir() if path.name.endswith(".yaml"))


def _read_yaml(file: Path) -> dict[str, Any]:
    preset = str(file) in preset_names() and not file.exists()
    source = PRESETS / f"{file}.yaml" if preset else file
    try:
        values = yaml.safe_load(source.read_text(encoding="utf-8")) or {}
    except FileNotFoundError:
        presets = ", ".join(preset_names())
        raise InputError(f"The config {file} cannot be read: there is no such file, nor preset ({presets}).") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The config {file} cannot be read: {error}.") from error
    except yaml.YAMLError as error:
        raise InputError(f"The config {file} is not YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(values, dict):
        raise InputError(f"The config {file} has to hold settings as `key: value`.")
    return values


def _assign(values: dict[str, Any], assignment: str) -> None:
    name, equals, text = assignment.partition("=")
    if not (name and equals):
        raise InputError(f"--set {assignment} is not of the form key=value.")
    *parents, last = name.split(".")
    for parent in parents:
        below = values.get(parent, {})
        if not isinstance(below, dict):
            raise InputError(f"--set {assignment}: {parent} is a value, not a group of settings.")
        values[parent] = values = dict(below)  # a copy: YAML's aliases share one
    try:
        values[last] = yaml.safe_load(text)
    except yaml.YAMLError:
        raise InputError(f"--set {assignment}: {text!r} is not a value that YAML can read.") from None


def _sentence(error: ValidationError) -> str:
    parts = []
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            parts.append(f"there is no setting {name}; see `scenekin config` for those there are")
        else:
            parts.append(f"{name} cannot be {problem['input']!r}: {problem['msg'].removeprefix('Value error, ')}")
    return f"The configuration is not usable: {'; '.join(parts)}."
