"""How an upright image becomes a backbone's input; stored with the model and used everywhere."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Interpolation = Literal["bicubic", "bilinear", "lanczos"]


class Preprocessing(BaseModel):
    """Size and shape of the backbone's input, the filter that resizes to it, and its normalisation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int = Field(default=224, ge=32, description="Longer side of an input image, in pixels.")
    stride: int = Field(default=32, ge=1, description="Both sides are rounded to multiples of this.")
    square: bool = Field(
        default=False, description="Resize images to a square, which distorts them; else keep their aspect ratio."
    )
    interpolation: Interpolation = Field(default="bicubic", description="Filter that resizes, with antialiasing.")
    mean: tuple[float, float, float] = Field(default=(0.5, 0.5, 0.5), description="Mean of each colour channel.")
    std: tuple[float, float, float] = Field(
        default=(0.5, 0.5, 0.5), description="Standard deviation of each colour channel."
    )
    decoded_size: int | None = Field(
        default=None, description="Size that images are decoded for, if a larger network takes the same ones."
    )
