import pytest
from pydantic import ValidationError

from tasks.collection.config import CollectionConfig
from tasks.errors import InputError


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


def test_an_encoding_must_be_known() -> None:
    assert [CollectionConfig(encoding=name).encoding for name in ("GBK", "UTF-16")] == ["gbk", "utf-16"]
    for encoding in ("nonsense", "rot13", "undefined"):
        with pytest.raises(ValidationError, match=f"no encoding is called '{encoding}'"):
            CollectionConfig(encoding=encoding)


def test_options_replace_settings_and_are_checked() -> None:
    config = CollectionConfig(split_seed=7)
    replaced = config.override({"caption_column": ("a", "b"), "encoding": "cp1251"})
    assert (replaced.split_seed, replaced.caption_columns, replaced.encoding) == (7, ("a", "b"), "cp1251")
    assert config.override({"caption_column": "a"}).caption_columns == ("a",)
    assert config.override({}) == config
    with pytest.raises(InputError, match=r"^Invalid encoding: no encoding is called 'nonsense'; .*\.$"):
        config.override({"encoding": "nonsense"})
