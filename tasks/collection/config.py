"""How a collection is read; its own splits, where it has any, come before these."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class CollectionConfig(BaseModel):
    """The seeded split of a collection that brings none: its seed and the shares held out (METHOD.md 1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    split_seed: int = 0
    validation_fraction: float = Field(default=0.1, ge=0, lt=1)
    test_fraction: float = Field(default=0.1, ge=0, lt=1)

    @model_validator(mode="after")
    def _leave_some_to_train_on(self) -> Self:
        if self.validation_fraction + self.test_fraction >= 1:
            raise ValueError("validation_fraction and test_fraction leave nothing to train on")
        return self
