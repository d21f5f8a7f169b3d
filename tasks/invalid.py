"""What is wrong with values that pydantic refuses, in plain words."""

from collections.abc import Mapping, Sequence
from typing import Any

LONGEST = 60  # characters of a value that are shown

CLAUSES = {
    "extra_forbidden": "unknown setting {name} (`scenekin config` prints all settings)",
    "invalid_key": "unknown setting {shown} (`scenekin config` prints all settings)",
    "list_type": "{subject} must be a list, such as [{value}], not {shown}",
    "missing": "{subject} is missing",
    "model_type": "{name} is a section; set one of its settings, such as {name}.KEY=VALUE",
    "string_too_long": "{subject} must have at most {max_length:,} characters",
    "too_long": "{subject} must have at most {max_length:,} values, not {actual_length:,}",
    "too_short": "{subject} must not be empty",
    "tuple_type": "{subject} must be a list, such as [{value}], not {shown}",
    "value_error": "{name}: {error}",
}
"""By pydantic's type of error."""
EXPECTED = {
    "bool": "true or false",
    "finite_number": "a finite number",
    "float": "a number",
    "greater_than": "greater than {gt:,.15g}",
    "greater_than_equal": "at least {ge:,.15g}",
    "int": "a whole number",
    "less_than": "less than {lt:,.15g}",
    "less_than_equal": "at most {le:,.15g}",
    "literal_error": "{expected}",
    "string": "text",
}
"""What a value must be, by pydantic's type of error or the first word of it."""


def clauses(problems: Sequence[Any]) -> list[str]:
    """Return a clause on each of pydantic's error details: the value's name, what it must be, and what it is.

    Names are dotted; where a web framework found the value (`query`, `body`) is no part of them.
    """
    inner = {problem["loc"][:length] for problem in problems for length in range(len(problem["loc"]))}
    return list(dict.fromkeys(_clause(problem) for problem in problems if problem["loc"] not in inner))


def _clause(problem: Mapping[str, Any]) -> str:
    kind, value = problem["type"], problem["input"]
    place = problem["loc"][problem["loc"][:1] in {("query",), ("body",), ("path",)} :]
    name = ".".join(str(part) for part in place if not isinstance(part, int))
    subject = f"each of {name}" if place and isinstance(place[-1], int) else name or "the request"
    expected = EXPECTED.get(kind) or EXPECTED.get(kind.partition("_")[0])
    unknown = "{subject}: {message}"  # a kind that no model has so far
    template = CLAUSES.get(kind) or (f"{{subject}} must be {expected}, not {{shown}}" if expected else unknown)
    facts = {"name": name, "subject": subject, "value": value, "shown": _shown(value), "message": problem["msg"]}
    return template.format(**facts, **problem.get("ctx", {})).removeprefix(": ")


def _shown(value: object) -> str:
    """Return a value as people write it in YAML, shortened."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
