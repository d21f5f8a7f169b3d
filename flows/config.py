"""All settings as one tree; a stage's key covers the part that the stage is given."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_serializer, field_validator, model_validator

from tasks.caching import Runtime
from tasks.captions.config import CaptionsConfig
from tasks.collection.config import CollectionConfig
from tasks.errors import InputError
from tasks.invalid import clauses
from tasks.model.config import BackboneConfig, PoolingConfig
from tasks.search.config import IndexConfig
from tasks.surrogate.config import SurrogateConfig
from tasks.training.config import BASELINE_POOLINGS, FineTuningConfig, RegressionConfig, TripletConfig

Candidate = Literal["v_v", "vt_v", "wsabie", "regression", "finetuned", "joined", "untrained"]
DEFAULT_BACKBONES = (
    BackboneConfig(name="efficientnet_lite2", size=288),
    BackboneConfig(name="efficientnet_lite1", size=288),
)
FINE_TUNED = frozenset({"finetuned", "joined"})
FORMER_NAMES = {"triplets": "v_v", "joint": "vt_v", "ridge": "regression"}
"""Sections that earlier versions named otherwise; registered models keep their settings under these names."""


def with_current_names(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings with former section names replaced. Raises ValueError if both names of one are given."""
    for former in values.keys() & FORMER_NAMES.keys():
        if FORMER_NAMES[former] in values:
            raise ValueError(f"{former} is the former name of {FORMER_NAMES[former]}; give only one of them")
    return {FORMER_NAMES.get(name, name): value for name, value in values.items()}


class Config(BaseModel):
    """The settings of all flows; a candidate's section is named after it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = Field(default=0, ge=0, description="Seed of every random choice except the split of a collection.")
    collection: CollectionConfig = Field(default=CollectionConfig(), description="How a collection is read and split.")
    captions: CaptionsConfig = Field(default=CaptionsConfig(), description="How captions are read.")
    surrogate: SurrogateConfig = Field(
        default=SurrogateConfig(), description="Relevant images: nearest neighbours by caption similarity."
    )
    backbone: tuple[BackboneConfig, ...] = Field(
        default=DEFAULT_BACKBONES,
        min_length=1,
        description="The networks whose descriptors are joined: one or a list; without name, the default ones.",
    )
    candidates: tuple[Candidate, ...] = Field(
        default=("v_v", "regression", "untrained"),
        min_length=1,
        description=f"Methods to train and compare: {', '.join(get_args(Candidate))}.",
    )
    stop_hopeless: bool = Field(
        default=True,
        description="Stop training by triplets early if its validation score will not reach the best candidate's.",
    )
    v_v: TripletConfig = Field(default=TripletConfig(), description="(V,V): image triplets.")
    vt_v: TripletConfig = Field(default=TripletConfig(), description="(V+T,V): triplets of images and captions.")
    wsabie: TripletConfig = Field(
        default=TripletConfig(), description="WSABIE (V+T,V): image queries, caption targets."
    )
    regression: RegressionConfig = Field(
        default=RegressionConfig(), description="Ridge regression from image features to captions."
    )
    finetuning: FineTuningConfig = Field(
        default=FineTuningConfig(),
        description="The network that finetuned uses alone, and joined beside those of backbone.",
    )
    index: IndexConfig = Field(default=IndexConfig(), description="How an index is stored.")
    runtime: Runtime = Field(default=Runtime(), description="Where and how fast stages run; never changes a result.")

    @model_validator(mode="before")
    @classmethod
    def _rename_former_sections(cls, values: Any) -> Any:
        return with_current_names(values) if isinstance(values, Mapping) else values

    @field_validator("backbone", mode="before", json_schema_input_type=BackboneConfig | tuple[BackboneConfig, ...])
    @classmethod
    def _as_list(cls, backbone: Any) -> Any:
        if isinstance(backbone, Mapping) and "name" not in backbone:
            return [{**each.model_dump(), **backbone} for each in DEFAULT_BACKBONES]
        return [backbone] if isinstance(backbone, BackboneConfig | Mapping) else backbone

    @field_validator("backbone")
    @classmethod
    def _other_networks(cls, backbone: tuple[BackboneConfig, ...]) -> tuple[BackboneConfig, ...]:
        if len(set(backbone)) < len(backbone):
            raise ValueError("each network may be listed only once")
        return backbone

    @field_serializer("backbone")
    def _as_read(self, backbone: tuple[BackboneConfig, ...]) -> Any:
        return backbone[0] if len(backbone) == 1 else backbone

    @field_validator("candidates")
    @classmethod
    def _each_once(cls, candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        if len(set(candidates)) < len(candidates):
            raise ValueError("each candidate may be named only once")
        return candidates

    @model_validator(mode="after")
    def _train_only_what_can_be(self) -> "Config":
        trained = {*self.fine_tuned_backbones(), *(self.backbone[:1] if self._trains_whole_network() else ())}
        for backbone in trained:
            if backbone.exported:
                raise ValueError(f"an exported network cannot be trained further: {backbone.name}")
        return self

    def with_columns(self, columns: Mapping[str, str | Sequence[str]]) -> "Config":
        """Return these settings with other `image_column`, `caption_column` or `encoding`."""
        return self.model_copy(update={"collection": self.collection.override(columns)})

    def with_missing_columns(self, columns: Mapping[str, Any]) -> "Config":
        """Return these settings with the columns and encoding of an earlier run, if none are set."""
        return self if self.collection.columns else self.with_columns(columns)

    def all_poolings(self) -> tuple[PoolingConfig, ...]:
        """Return the poolings that the baselines and the candidates need."""
        wanted = [*BASELINE_POOLINGS, *(pooling for method in self.candidates for pooling in self.poolings(method))]
        return tuple(dict.fromkeys(wanted))

    def poolings(self, method: str) -> tuple[PoolingConfig, ...]:
        """Return the poolings of a candidate's descriptors: one, but for `untrained` those that it chooses from."""
        if method == "untrained":
            return BASELINE_POOLINGS
        triplets = self.triplet_settings().get(method)
        return (self.regression.pooling if triplets is None else triplets.pooling,)

    def triplet_settings(self) -> dict[str, TripletConfig]:
        """Return the settings of each method that learns from triplets."""
        return {"v_v": self.v_v, "vt_v": self.vt_v, "wsabie": self.wsabie}

    def _trains_whole_network(self) -> bool:
        return any(
            settings.backbone == "finetuned" and method in self.candidates
            for method, settings in self.triplet_settings().items()
        )

    def finetuned(self) -> frozenset[str]:
        """Return the candidates that train the backbone too and cannot use precomputed features."""
        methods = self.triplet_settings().items()
        return FINE_TUNED | {method for method, settings in methods if settings.backbone == "finetuned"}

    def fine_tuned_backbones(self) -> tuple[BackboneConfig, ...]:
        """Return the network that a candidate fine-tunes, if one does."""
        if FINE_TUNED.isdisjoint(self.candidates):
            return ()
        return (self.finetuning.backbone or self.backbone[0],)

    def result_settings(self) -> "Config":
        """Return the settings that can change a result; all others are left at their defaults."""
        backbone = tuple(each.without_path() for each in self.backbone)
        return self.model_copy(update={"runtime": Runtime(), "index": IndexConfig(), "backbone": backbone})


def registered_settings(version: int, settings: str) -> Config:
    """Read the settings of a registered model, perhaps of another version of scenekin. Raises InputError."""
    try:
        return Config.model_validate_json(settings)
    except ValidationError as error:
        reason = "; ".join(clauses(error.errors()))
        raise InputError(f"Cannot read the settings of model {version}: {reason}; train again.") from None
