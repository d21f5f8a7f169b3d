"""How an upright image becomes a backbone's input; stored with the model and used everywhere."""

from pydantic import BaseModel, ConfigDict, Field


class Preprocessing(BaseModel):
    """Size of the longer side in pixels, the backbone's stride, to which sides are rounded, and its normalisation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int = Field(default=224, ge=32, description="Longer side of an input image, in pixels.")
    stride: int = Field(default=32, ge=1, description="Both sides are rounded to multiples of this.")
    mean: tuple[float, float, float] = Field(default=(0.5, 0.5, 0.5), description="Mean of each colour channel.")
    std: tuple[float, float, float] = Field(
        default=(0.5, 0.5, 0.5), description="Standard deviation of each colour channel."
    )
