"""How a collection is read. A split that the collection defines itself takes precedence over these settings."""

import codecs
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from tasks.errors import InvalidOption
from tasks.invalid import clauses


def _check_names(value: Any) -> Any:
    """Raise ValueError, in one sentence for both types, if the value is neither a name nor a list of names."""
    names = value if isinstance(value, list | tuple) else [value]
    if value is not None and not all(isinstance(name, str) for name in names):
        raise ValueError("must be the name of a column or a list of names")
    return value


class CollectionConfig(BaseModel):
    """Columns and annotations to read, and the seeded split of a collection without splits (METHOD.md 1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    image_column: str | None = Field(default=None, description="Table column with the image paths; null: detected.")
    caption_column: Annotated[str | tuple[str, ...] | None, BeforeValidator(_check_names)] = Field(
        default=None, description="Table column with the captions, or a list of several; null: detected."
    )
    encoding: str | None = Field(
        default=None,
        description="Encoding of text files, such as gbk; null: detected, usually UTF-8.",
    )
    annotations: Literal["regions", "objects"] = Field(
        default="regions", description="Visual Genome: use region descriptions or object names as captions."
    )
    split_seed: int = Field(default=0, description="Seed of the split, if the collection has none.")
    validation_fraction: float = Field(default=0.1, ge=0, lt=1, description="Share of images held out for validation.")
    test_fraction: float = Field(default=0.1, ge=0, lt=1, description="Share of images held out for testing.")

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, encoding: str | None) -> str | None:
        if encoding is None:
            return None
        try:
            b"text".decode(encoding, "replace")  # some codecs are not for text
            return codecs.lookup(encoding).name
        except (LookupError, UnicodeError):
            raise ValueError(f"no encoding is called {encoding!r}; examples are cp1252, gbk and shift_jis") from None

    @property
    def caption_columns(self) -> tuple[str, ...]:
        """The columns with captions that are named."""
        if isinstance(self.caption_column, str):
            return (self.caption_column,)
        return self.caption_column or ()

    @property
    def columns(self) -> dict[str, Any]:
        """How tables are read: those settings that options of the command line replace, as far as they are set."""
        return self.model_dump(include={"image_column", "caption_column", "encoding"}, exclude_none=True, mode="json")

    def override(self, options: Mapping[str, str | Sequence[str]]) -> "CollectionConfig":
        """Return the settings with some of them replaced, as options of the command line do. Raises InvalidOption."""
        try:
            return CollectionConfig.model_validate({**self.model_dump(), **options})
        except ValidationError as error:
            raise InvalidOption(f"Invalid {'; '.join(clauses(error.errors()))}.") from None

    @model_validator(mode="after")
    def _leave_some_to_train_on(self) -> Self:
        if self.validation_fraction + self.test_fraction >= 1:
            raise ValueError("validation_fraction and test_fraction leave nothing to train on")
        return self
