"""Read a configuration from a YAML file and `key=value` assignments, and write one as commented YAML."""

import logging
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from flows.config import FORMER_NAMES, Config, with_current_names
from tasks.errors import InputError, InvalidOption
from tasks.invalid import clauses

PRESETS = files("flows") / "presets"
READ_BY = {
    "check": {"collection"},
    "evaluate": {"runtime"},  # all others are those of the model's training
    "index": {"collection", "index", "runtime"},
    "index --untrained": {"backbone", "collection", "index", "runtime"},
    "train": Config.model_fields.keys() - {"index"},
}
"""The sections and settings that have an effect on a command."""

LOGGER = logging.getLogger("scenekin")


def read_config(file: Path | None, assignments: Sequence[str] = (), command: str | None = None) -> Config:
    """Return the defaults, changed by the file, then by assignments such as `v_v.margin=0.1`.

    If there is no such file, the preset of that name is read. Assignments that have no effect on the `command` are
    logged as warnings; a file may serve several commands. Raises InputError if a setting of the file is unknown or
    invalid, InvalidOption if an assignment is.
    """
    values = _read_yaml(file) if file is not None else {}
    of_file = dict(values)
    for assignment in assignments:
        section = _assign(values, assignment)
        if command is not None and section in Config.model_fields and section not in READ_BY[command]:
            LOGGER.warning("--set %s has no effect on `scenekin %s`.", assignment, command)
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        refusal = InvalidOption if _is_valid(of_file) else InputError
        raise refusal(f"Invalid settings: {'; '.join(clauses(error.errors()))}.") from None


def _is_valid(values: dict[str, Any]) -> bool:
    try:
        Config.model_validate(values)
    except ValidationError:
        return False
    return True


def preset_names() -> list[str]:
    """Return the names of the presets."""
    return sorted(path.name.removesuffix(".yaml") for path in PRESETS.iterdir() if path.name.endswith(".yaml"))


def config_text(config: Config) -> str:
    """Return all settings as YAML, each with its description as a comment; sections that repeat are written once."""
    return "\n".join(_section_lines(config, "")) + "\n"


def _section_lines(section: BaseModel, indent: str) -> Iterator[str]:
    written: list[tuple[str, BaseModel]] = []
    shared = _repeated(section)
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, tuple) and len(value) == 1 and isinstance(value[0], BaseModel):
            (value,) = value
        yield f"{indent}# {field.description}"
        if isinstance(value, tuple) and any(isinstance(each, BaseModel) for each in value):
            yield f"{indent}{name}:"
            for each in value:
                first, *others = _section_lines(each, f"{indent}  ")
                yield from (f"{indent}- {first.strip()}", *others)
        elif not isinstance(value, BaseModel):
            yield f"{indent}{name}: {_scalar(value)}"
        elif same := next((earlier for earlier, each in written if each == value), None):
            yield f"{indent}{name}: *{same}  # a YAML alias: in this file, changes of {same} apply here too"
        else:
            written.append((name, value))
            yield f"{indent}{name}:{f' &{name}' if name in shared else ''}"
            yield from _section_lines(value, f"{indent}  ")


def _repeated(section: BaseModel) -> set[str]:
    """Return the names of the subsections that are equal to another one."""
    values = {name: value for name, value in section if isinstance(value, BaseModel)}
    return {name for name, value in values.items() if list(values.values()).count(value) > 1}


def _scalar(value: object) -> str:
    """Return a value as YAML on one line."""
    plain = list(value) if isinstance(value, tuple) else value
    return yaml.safe_dump([plain], default_flow_style=True, width=10_000).strip()[1:-1]


def _read_yaml(file: Path) -> dict[str, Any]:
    preset = str(file) in preset_names() and not file.exists()
    source = PRESETS / f"{file}.yaml" if preset else file
    try:
        values = yaml.safe_load(source.read_text(encoding="utf-8")) or {}
    except FileNotFoundError:
        presets = ", ".join(preset_names())
        raise InputError(f"No such settings file or preset: {str(file)!r}; presets are {presets}.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not a text file in UTF-8"
        raise InputError(f"Cannot read the settings file {file}: {reason}.") from error
    except yaml.YAMLError as error:
        raise InputError(f"The settings file {file} is not valid YAML{_place(error)}.") from error
    if not isinstance(values, dict):
        raise InputError(f"The settings file {file} must contain settings as `key: value`.")
    try:
        return with_current_names(values)
    except ValueError as error:
        raise InputError(f"The settings file {file} is ambiguous: {error}.") from None


def _place(error: yaml.YAMLError) -> str:
    """Return where a YAML file is wrong, and why, if the parser knows."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return ""
    return f": line {error.problem_mark.line + 1}, column {error.problem_mark.column + 1}: {error.problem}"


def _assign(values: dict[str, Any], assignment: str) -> str:
    """Set a value, and return the section or setting at the top that it belongs to. Raises InvalidOption."""
    name, equals, text = assignment.partition("=")
    if not (name and equals):
        raise InvalidOption(f"Cannot parse --set {assignment}; write key=value.")
    section, *names = name.split(".")
    top = FORMER_NAMES.get(section, section)
    *parents, last = [top, *names]
    for parent in parents:
        below = values.get(parent, {})
        if isinstance(below, list):
            raise InputError(
                f"Cannot apply --set {assignment}: {parent} is a list in the settings file; change it there."
            )
        if not isinstance(below, dict):
            raise InvalidOption(f"Cannot apply --set {assignment}: {parent} is a single setting, not a section.")
        values[parent] = values = dict(below)  # a copy: YAML aliases share one object
    try:
        values[last] = yaml.safe_load(text)
    except yaml.YAMLError:
        raise InvalidOption(f"Cannot parse --set {assignment}: {text!r} is not a valid YAML value.") from None
    return top
