"""Help and usage errors of commands in plain words, where typer shows types of flags and messages of pydantic."""

from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tasks.invalid import clauses
from tasks.phrases import either


class Command(TyperCommand):
    """A command whose flags take no value in the help, and whose errors say what a value must be."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, among them `--help`."""
        return _without_flag_types(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. Raises BadParameter."""
        with _plain_errors():
            return super().parse_args(ctx, args)


class Group(TyperGroup):
    """The program itself, otherwise as Command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, among them `--help` and those of completion."""
        return _without_flag_types(super().get_params(ctx))


def _without_flag_types(params: list[Any]) -> list[Any]:
    """Let no flag, even those that typer adds itself, be shown with `<bool>`."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
    return params


class WrongUsage(typer.BadParameter):
    """Options that do not go together, or a value that is never allowed: exit code 2."""

    def format_message(self) -> str:
        """The message alone: it names the option."""
        return self.message


@contextmanager
def _plain_errors() -> Iterator[None]:
    """Word an invalid value as settings are worded; typer shows pydantic's message."""
    try:
        yield
    except typer.BadParameter as error:
        details = getattr(error.__cause__, "errors", None)  # of pydantic's ValidationError
        if details is not None and error.param is not None:
            error.message = _message(error.param, details()[0])
        raise


def _message(param: Any, detail: dict[str, Any]) -> str:
    choices = [str(choice) for choice in param.type_descriptor.choices or ()]
    if not choices:
        return f"{clauses([{**detail, 'loc': ('it',)}])[0]}."
    near = get_close_matches(str(detail["input"]), choices, 1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"it must be {either(list(map(repr, choices)))}, not {detail['input']!r}.{hint}"
