"""What turns an upright picture into a backbone's input; stored with the model and used everywhere."""

from pydantic import BaseModel, ConfigDict, Field


class Preprocessing(BaseModel):
    """Largest side in pixels, the backbone's stride that sides are rounded to, and its colour normalisation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    size: int = Field(default=224, ge=32)
    stride: int = Field(default=32, ge=1)
    mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    std: tuple[float, float, float] = (0.5, 0.5, 0.5)
