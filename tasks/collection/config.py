"""Settings for reading and splitting a collection; splits that the collection brings take precedence."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class CollectionConfig(BaseModel):
    """Which columns and annotations are read, and the seeded split of a collection without its own (METHOD.md 1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    image_column: str | None = Field(
        default=None, description="Table column with the image names (default: detected by its name)."
    )
    caption_column: str | None = Field(
        default=None, description="Table column with the captions (default: detected by its name)."
    )
    annotations: Literal["regions", "objects"] = Field(
        default="regions", description="Text to learn from in Visual Genome: regions or objects."
    )
    split_seed: int = Field(default=0, description="Seed of the split of a collection without its own splits.")
    validation_fraction: float = Field(
        default=0.1, ge=0, lt=1, description="Share of the images in the validation split."
    )
    test_fraction: float = Field(default=0.1, ge=0, lt=1, description="Share of the images in the test split.")

    @model_validator(mode="after")
    def _leave_some_to_train_on(self) -> Self:
        if self.validation_fraction + self.test_fraction >= 1:
            raise ValueError("validation_fraction and test_fraction leave nothing to train on")
        return self
