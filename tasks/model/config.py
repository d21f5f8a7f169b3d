"""The recipe of a visual embedding; stored with every model."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from tasks.images.config import Preprocessing

T = TypeVar("T")

CONFIG = "config.json"
Precision = Literal["float32", "bfloat16"]
BACKBONES = (
    "efficientnet_lite0",
    "efficientnet_lite1",
    "efficientnet_lite2",
    "resnet18",
    "resnet50",
    "resnet101",
)
TIMM, OPEN_CLIP, EXPORTED = "timm/", "open_clip/", ".pt2"  # how names begin, and how that of a file ends


class BackboneConfig(BaseModel):
    """A network, its input size and its weights (METHOD.md 3)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(
        default="efficientnet_lite0",
        description=f"{', '.join(BACKBONES)}; {TIMM}MODEL[.TAG], any network of timm; {OPEN_CLIP}MODEL/TAG, the "
        f"image tower of a CLIP model (extra `clip`); or a file FILE{EXPORTED} saved by torch.export.",
    )
    size: int | None = Field(
        default=None,
        ge=32,
        description="Longer side of the input image in pixels (default: the network's own size, at most 384).",
    )
    mirror: bool = Field(
        default=False, description="Average over the horizontal flip: slightly better, up to twice the work."
    )
    precision: Precision = Field(
        default="float32",
        description="float32, or bfloat16: faster on a GPU, but the vectors differ; applies to every device.",
    )
    weights: str | None = Field(
        default=None, description="File with the network's weights, .pth or .safetensors (default: the published ones)."
    )

    @property
    def exported(self) -> bool:
        """Whether the network is a program in a file."""
        return self.name.endswith(EXPORTED)

    def without_path(self) -> "BackboneConfig":
        """Return the settings without the folder of a program and the path of weights."""
        name = Path(self.name).name if self.exported else self.name
        return self.model_copy(update={"name": name, "weights": None})

    @field_validator("name")
    @classmethod
    def _is_known(cls, name: str) -> str:
        is_of_library = name.startswith((TIMM, OPEN_CLIP)) and not name.endswith("/")
        if name in BACKBONES or is_of_library or name.endswith(EXPORTED):
            return name
        near = get_close_matches(name, BACKBONES, n=1) or [TIMM + name]
        raise ValueError(f"there is no backbone {name!r}; perhaps {near[0]} is meant")


class PoolingConfig(BaseModel):
    """How feature maps become descriptors: several regions (R-MAC) or one descriptor per image (METHOD.md 3, 9)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["rmac_max", "rmac_mean", "gem", "gap", "blocks"] = Field(
        default="gap",
        description="rmac_max, rmac_mean: regions; gem, gap: one descriptor; blocks: several layers and class scores.",
    )
    scales: int = Field(default=2, ge=1, le=4, description="Number of region scales; rmac only.")
    gem_power: float = Field(default=3.0, gt=0, le=10, description="Exponent of generalised-mean pooling; gem only.")

    @field_validator("scales", "gem_power")
    @classmethod
    def _only_for_its_kind(cls, value: float, info: ValidationInfo) -> float:
        """Leave settings that the kind ignores at their defaults, so that equal descriptors have equal settings."""
        kind = str(info.data.get("kind"))
        used = kind.startswith("rmac") if info.field_name == "scales" else kind == "gem"
        return value if used else cast(float, cls.model_fields[str(info.field_name)].default)


class NetworkConfig(BaseModel):
    """A network of a model, with everything that was taken from its publisher."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    backbone: BackboneConfig = Field(description="The network.")
    preprocessing: Preprocessing = Field(description="How an image becomes the network's input.")
    licence: str = Field(default="", description="The licence of its published weights, where it is known.")
    finetuned: bool = Field(default=False, description="Whether its weights were trained further.")


class ModelConfig(BaseModel):
    """The complete recipe from pixels to an embedding."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: str = Field(description="The method: v_v, vt_v, wsabie, regression or untrained.")
    networks: tuple[NetworkConfig, ...] = Field(min_length=1, description="The networks whose descriptors are joined.")
    pooling: PoolingConfig = Field(description="How feature maps become descriptors.")
    channels: int = Field(description="Number of channels of a descriptor, C.")
    dimension: int = Field(description="Number of dimensions of the embedding, D.")
    landmarks: int = Field(default=0, description="Training images in a kernel head; 0: the head is no kernel.")
    scaled: bool = Field(default=False, description="Whether the head centres and scales descriptors, nothing more.")

    @model_validator(mode="before")
    @classmethod
    def _read_former(cls, values: Any) -> Any:
        """Accept the recipes of earlier versions, which had one network."""
        if not isinstance(values, Mapping) or "backbone" not in values:
            return values
        network = {name: values[name] for name in NetworkConfig.model_fields if name in values}
        return {**{name: value for name, value in values.items() if name not in network}, "networks": [network]}

    @property
    def finetuned(self) -> bool:
        """Whether the weights of a network were trained further."""
        return any(network.finetuned for network in self.networks)

    @property
    def backbones(self) -> tuple[BackboneConfig, ...]:
        """The networks by name and size."""
        return tuple(network.backbone for network in self.networks)

    @property
    def preprocessings(self) -> tuple[Preprocessing, ...]:
        """How an image becomes the input of each network."""
        return tuple(network.preprocessing for network in self.networks)


def without_path(network: NetworkConfig) -> NetworkConfig:
    """Return the network as a model stores it: without the path of its weights or program, which the model contains."""
    return network.model_copy(update={"backbone": network.backbone.without_path()})


def joined(networks: Sequence[T], pooling: PoolingConfig) -> tuple[T, ...]:
    """Return the networks whose descriptors a pooling joins: all, but only the first for the regions of R-MAC."""
    return tuple(networks[:1] if pooling.kind.startswith("rmac") else networks)


def features_file(pooling: PoolingConfig) -> str:
    """Return the name of the Parquet file with a pooling's descriptors, which no other pooling has."""
    match pooling.kind:
        case "gap" | "blocks":
            return f"{pooling.kind}.parquet"
        case "gem":
            return f"gem_{pooling.gem_power!r}.parquet"
        case kind:
            return f"{kind}_{pooling.scales}.parquet"


def load_config(folder: Path) -> ModelConfig:
    """Read the recipe of the model in a folder."""
    return ModelConfig.model_validate_json((folder / CONFIG).read_bytes())
