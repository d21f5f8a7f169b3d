"""Reading the configuration from a YAML file or preset and from `key=value` assignments."""

from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from flows.config import Config
from tasks.errors import InputError

PRESETS = files("flows") / "presets"


def read_config(file: Path | None, assignments: list[str]) -> Config:
    """The defaults, overridden by the file, then by assignments such as `triplets.margin=0.1`. Raises InputError.

    A name that is no file is looked up among the presets.
    """
    values = _read_yaml(file) if file is not None else {}
    for assignment in assignments:
        _assign(values, assignment)
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise InputError(_sentence(error)) from None


def preset_names() -> list[str]:
    """Names of the presets that `--config` accepts."""
    return sorted(path.name.removesuffix(".yaml") for path in PRESETS.iterdir() if path.name.endswith(".yaml"))


def _read_yaml(file: Path) -> dict[str, Any]:
    preset = str(file) in preset_names() and not file.exists()
    source = PRESETS / f"{file}.yaml" if preset else file
    try:
        values = yaml.safe_load(source.read_text(encoding="utf-8")) or {}
    except FileNotFoundError:
        presets = ", ".join(preset_names())
        raise InputError(f"No such settings file or preset: {str(file)!r}; presets are {presets}.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"Cannot read the settings file {file}: {reason}.") from error
    except yaml.YAMLError as error:
        raise InputError(f"The settings file {file} is not valid YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(values, dict):
        raise InputError(f"The settings file {file} must contain settings as `key: value`.")
    return values


def _assign(values: dict[str, Any], assignment: str) -> None:
    name, equals, text = assignment.partition("=")
    if not (name and equals):
        raise InputError(f"Cannot parse --set {assignment}; write key=value.")
    *parents, last = name.split(".")
    for parent in parents:
        below = values.get(parent, {})
        if not isinstance(below, dict):
            raise InputError(f"Cannot apply --set {assignment}: {parent} is a single setting, not a group.")
        values[parent] = values = dict(below)  # a copy: YAML aliases share one object
    try:
        values[last] = yaml.safe_load(text)
    except yaml.YAMLError:
        raise InputError(f"Cannot parse --set {assignment}: {text!r} is not a valid YAML value.") from None


def _sentence(error: ValidationError) -> str:
    parts = []
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            parts.append(f"unknown setting {name} (`scenekin config` prints all settings)")
        else:
            parts.append(f"{name} cannot be {problem['input']!r}: {problem['msg'].removeprefix('Value error, ')}")
    return f"Invalid settings: {'; '.join(parts)}."
