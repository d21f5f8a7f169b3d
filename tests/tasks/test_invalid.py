"""Sentences about settings and about parameters of the API are tested with these."""

from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError, field_validator

from tasks.invalid import clauses


class Model(BaseModel):
    count: int = Field(default=1, lt=10)
    names: list[str] = []
    when: Any = None

    @field_validator("when")
    @classmethod
    def _never(cls, _: Any) -> Any:
        raise AssertionError("never")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"count": 10}, ["count must be less than 10, not 10"]),
        ({"count": 1.5}, ["count must be a whole number, not 1.5"]),
        ({"count": "x" * 100}, [f"count must be a whole number, not '{'x' * 59}..."]),
        ({"names": [1, "b"], "count": 11}, ["count must be less than 10, not 11", "each of names must be text, not 1"]),
        ({"when": True}, ["when: Assertion failed, never"]),  # a kind that has no clause of its own
    ],
)
def test_each_invalid_value_has_a_clause(values: dict[str, Any], expected: list[str]) -> None:
    with pytest.raises(ValidationError) as refused:
        Model.model_validate(values)
    assert clauses(refused.value.errors()) == expected


def test_the_place_where_a_framework_found_a_value_is_not_named() -> None:
    missing = {"type": "missing", "loc": ("query", "a"), "msg": "Field required", "input": None}
    assert clauses([missing]) == ["a is missing"]
    assert clauses([{**missing, "loc": ("body",)}]) == ["the request is missing"]
