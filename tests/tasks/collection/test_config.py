import pytest
from pydantic import ValidationError

from tasks.collection.config import CollectionConfig


@pytest.mark.parametrize(
    "values",
    [
        {"validation_fraction": 0.5, "test_fraction": 0.5},
        {"test_fraction": -0.1},
        {"validation_fraction": 1.0},
        {"seed": 1},
    ],
)
def test_what_cannot_be_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        CollectionConfig(**values)


def test_nothing_may_be_held_out() -> None:
    config = CollectionConfig(validation_fraction=0, test_fraction=0)
    assert (config.validation_fraction, config.test_fraction) == (0, 0)
