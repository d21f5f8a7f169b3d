"""How a collection is read. A split that the collection defines itself takes precedence over these settings."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class CollectionConfig(BaseModel):
    """Columns and annotations to read, and the seeded split of a collection without splits (METHOD.md 1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    image_column: str | None = Field(
        default=None, description="Table column with the image file names; null detects it."
    )
    caption_column: str | None = Field(default=None, description="Table column with the captions; null detects it.")
    annotations: Literal["regions", "objects"] = Field(
        default="regions", description="Visual Genome: use region descriptions or object names as captions."
    )
    split_seed: int = Field(default=0, description="Seed of the split, if the collection has none.")
    validation_fraction: float = Field(default=0.1, ge=0, lt=1, description="Share of images held out for validation.")
    test_fraction: float = Field(default=0.1, ge=0, lt=1, description="Share of images held out for testing.")

    @model_validator(mode="after")
    def _leave_some_to_train_on(self) -> Self:
        if self.validation_fraction + self.test_fraction >= 1:
            raise ValueError("validation_fraction and test_fraction leave nothing to train on")
        return self
