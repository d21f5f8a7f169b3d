"""Everything that can be set, as one tree; a stage's key covers the part that it is given."""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tasks.caching import Runtime
from tasks.captions.config import CaptionsConfig
from tasks.collection.config import CollectionConfig
from tasks.features.config import FeaturesConfig
from tasks.model.config import BackboneConfig, PoolingConfig
from tasks.search.config import IndexConfig
from tasks.surrogate.config import SurrogateConfig
from tasks.training.config import RidgeConfig, TripletConfig, TripletMethod

BASELINE_POOLINGS = (PoolingConfig(kind="gap"), PoolingConfig(kind="rmac_max"))
Candidate = TripletMethod | Literal["regression"]


class Config(BaseModel):
    """The settings of all flows. `candidates` are trained and compared; `seed` decides every random choice.

    `triplets` are the settings of (V,V), `joint` those of (V+T,V).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = Field(default=0, ge=0)
    collection: CollectionConfig = CollectionConfig()
    captions: CaptionsConfig = CaptionsConfig()
    surrogate: SurrogateConfig = SurrogateConfig()
    backbone: BackboneConfig = BackboneConfig()
    candidates: tuple[Candidate, ...] = Field(default=("v_v", "regression"), min_length=1)
    triplets: TripletConfig = TripletConfig()
    joint: TripletConfig = TripletConfig()
    wsabie: TripletConfig = TripletConfig()
    ridge: RidgeConfig = RidgeConfig()
    index: IndexConfig = IndexConfig()
    runtime: Runtime = Runtime()

    @field_validator("candidates")
    @classmethod
    def _each_once(cls, candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        if len(set(candidates)) < len(candidates):
            raise ValueError("a candidate is named twice")
        return candidates

    def with_columns(self, columns: Mapping[str, str | Sequence[str]]) -> "Config":
        """The same settings for a table whose image_column or caption_column are these."""
        return self.model_copy(update={"collection": self.collection.override(columns)})

    def features(self) -> FeaturesConfig:
        """The descriptors that the baselines and the candidates need, computed in one pass."""
        wanted = [*BASELINE_POOLINGS, *(self.pooling(method) for method in self.candidates)]
        return FeaturesConfig(backbone=self.backbone, poolings=tuple(dict.fromkeys(wanted)))

    def pooling(self, method: str) -> PoolingConfig:
        """What a candidate pools its descriptors by."""
        return self.ridge.pooling if method == "regression" else self.triplet_settings()[method].pooling

    def triplet_settings(self) -> dict[str, TripletConfig]:
        """The settings of each method that learns from triplets."""
        return {"v_v": self.triplets, "vt_v": self.joint, "wsabie": self.wsabie}

    def finetuned(self) -> frozenset[str]:
        """The candidates whose backbone is trained too, so that features at hand do not serve them."""
        methods = self.triplet_settings().items()
        return frozenset(method for method, settings in methods if settings.backbone == "finetuned")

    def answers(self) -> "Config":
        """The settings that can change an answer: where and how fast, and what is kept, is left at its default."""
        backbone = self.backbone.model_copy(update={"weights": None})
        return self.model_copy(update={"runtime": Runtime(), "index": IndexConfig(), "backbone": backbone})
