"""A configuration from a YAML file and `key=value` words, checked in one sentence."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from flows.config import Config
from tasks.errors import InputError


def read_config(file: Path | None, assignments: list[str]) -> Config:
    """The defaults, changed by the file, then by assignments such as `triplets.margin=0.1`. Raises InputError."""
    values = _read_yaml(file) if file is not None else {}
    for assignment in assignments:
        _assign(values, assignment)
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        raise InputError(_sentence(error)) from None


def _read_yaml(file: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
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
        values = values.setdefault(parent, {})
        if not isinstance(values, dict):
            raise InputError(f"--set {assignment}: {parent} is a value, not a group of settings.")
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
