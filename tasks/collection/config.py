"""How a collection is read; its own splits, where it has any, come before these."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class CollectionConfig(BaseModel):
    """Which columns and annotations are read, and the seeded split of a collection that brings none (METHOD.md 1).

    `image_column` and `caption_column` are of tables, found by looking unless named; `annotations` are of Visual
    Genome. `split_seed` and the fractions held out decide the split.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    image_column: str | None = None
    caption_column: str | None = None
    annotations: Literal["regions", "objects"] = "regions"
    split_seed: int = 0
    validation_fraction: float = Field(default=0.1, ge=0, lt=1)
    test_fraction: float = Field(default=0.1, ge=0, lt=1)

    @model_validator(mode="after")
    def _leave_some_to_train_on(self) -> Self:
        if self.validation_fraction + self.test_fraction >= 1:
            raise ValueError("validation_fraction and test_fraction leave nothing to train on")
        return self
