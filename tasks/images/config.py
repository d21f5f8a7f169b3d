"""Preprocessing from an upright image to a backbone's input; stored with the model and used everywhere."""

from pydantic import BaseModel, ConfigDict, Field


class Preprocessing(BaseModel):
    """Input size, stride and colour normalisation of a backbone (METHOD.md 3)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int = Field(default=224, ge=32, description="Longer side of the resized image in pixels.")
    stride: int = Field(default=32, ge=1, description="Both sides are rounded to multiples of this.")
    mean: tuple[float, float, float] = Field(default=(0.5, 0.5, 0.5), description="Mean of each colour channel.")
    std: tuple[float, float, float] = Field(
        default=(0.5, 0.5, 0.5), description="Standard deviation of each colour channel."
    )
