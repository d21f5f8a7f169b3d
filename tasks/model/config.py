"""The configuration of a visual embedding; stored with every model."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tasks.images.config import Preprocessing

CONFIG = "config.json"
BackboneName = Literal["efficientnet_lite0", "resnet18", "resnet50", "resnet101"]


class BackboneConfig(BaseModel):
    """Which convolutional network, at which input size (largest side in pixels), and a weights file if not its own.

    With `mirror` every map is the mean of the image's and its mirror image's: somewhat better, and twice the work.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: BackboneName = "efficientnet_lite0"
    size: int = Field(default=224, ge=32)
    mirror: bool = False
    weights: str | None = None


class PoolingConfig(BaseModel):
    """A network's maps to descriptors: R-MAC regions by max or mean, or a single one by GeM or average (METHOD.md 3).

    `blocks` is a single one too: averages and deviations of several maps beside the class scores (METHOD.md 9).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["rmac_max", "rmac_mean", "gem", "gap", "blocks"] = "gap"
    scales: int = Field(default=2, ge=1, le=4)
    gem_power: float = Field(default=3.0, gt=0, le=10)


class ModelConfig(BaseModel):
    """The whole recipe from pixels to embedding; `dimension` is D, `method` the trained method's name.

    `channels` is C of a descriptor. With `landmarks` the head is a kernel's, else a projection.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str
    backbone: BackboneConfig
    preprocessing: Preprocessing
    pooling: PoolingConfig
    channels: int
    dimension: int
    finetuned: bool = False
    landmarks: int = 0


def features_file(pooling: PoolingConfig) -> str:
    """Return the name of the Parquet file with a pooling's descriptors."""
    match pooling.kind:
        case "gap" | "blocks":
            return f"{pooling.kind}.parquet"
        case "gem":
            return f"gem_{pooling.gem_power:g}.parquet"
        case kind:
            return f"{kind}_{pooling.scales}.parquet"


def load_config(folder: Path) -> ModelConfig:
    """Read the configuration of the model in a folder."""
    return ModelConfig.model_validate_json((folder / CONFIG).read_text())
