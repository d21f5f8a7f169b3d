"""Everything that can be set, as one tree; a stage's key covers the part that it is given."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

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
FORMER_NAMES = {"triplets": "v_v", "joint": "vt_v", "ridge": "regression"}


class Config(BaseModel):
    """The settings of all flows. `candidates` are trained and compared; `seed` determines every random choice.

    Each candidate has a section of its own name. With `stop_hopeless`, a candidate that cannot become the best is
    stopped.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = Field(default=0, ge=0)
    collection: CollectionConfig = CollectionConfig()
    captions: CaptionsConfig = CaptionsConfig()
    surrogate: SurrogateConfig = SurrogateConfig()
    backbone: BackboneConfig = BackboneConfig()
    candidates: tuple[Candidate, ...] = Field(default=("v_v", "regression"), min_length=1)
    stop_hopeless: bool = True
    v_v: TripletConfig = TripletConfig()
    vt_v: TripletConfig = TripletConfig()
    wsabie: TripletConfig = TripletConfig()
    regression: RidgeConfig = RidgeConfig()
    index: IndexConfig = IndexConfig()
    runtime: Runtime = Runtime()

    @model_validator(mode="before")
    @classmethod
    def _accept_former_names(cls, values: Any) -> Any:
        """Read sections by their former names too, as in the settings of models trained before they changed."""
        if not isinstance(values, Mapping):
            return values
        if both := [name for name in FORMER_NAMES if name in values and FORMER_NAMES[name] in values]:
            raise ValueError(f"section {both[0]} is now called {FORMER_NAMES[both[0]]}; use the new name only")
        return {FORMER_NAMES.get(name, name): value for name, value in values.items()}

    @field_validator("candidates")
    @classmethod
    def _each_once(cls, candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
        if len(set(candidates)) < len(candidates):
            raise ValueError("a candidate is named twice")
        return candidates

    def with_columns(self, columns: Mapping[str, str]) -> "Config":
        """The same settings for a table whose image_column or caption_column are these."""
        return self.model_copy(update={"collection": self.collection.model_copy(update=dict(columns))})

    def features(self) -> FeaturesConfig:
        """The descriptors that the baselines and the candidates need, computed in one pass."""
        wanted = [*BASELINE_POOLINGS, *(self.pooling(method) for method in self.candidates)]
        return FeaturesConfig(backbone=self.backbone, poolings=tuple(dict.fromkeys(wanted)))

    def pooling(self, method: str) -> PoolingConfig:
        """What a candidate pools its descriptors by."""
        return self.regression.pooling if method == "regression" else self.triplet_settings()[method].pooling

    def triplet_settings(self) -> dict[str, TripletConfig]:
        """The settings of each method that learns from triplets."""
        return {"v_v": self.v_v, "vt_v": self.vt_v, "wsabie": self.wsabie}

    def finetuned(self) -> frozenset[str]:
        """The candidates whose backbone is trained too, so that features at hand do not serve them."""
        methods = self.triplet_settings().items()
        return frozenset(method for method, settings in methods if settings.backbone == "finetuned")

    def answers(self) -> "Config":
        """The settings that can change an answer: where and how fast, and what is kept, is left at its default."""
        backbone = self.backbone.model_copy(update={"weights": None})
        return self.model_copy(update={"runtime": Runtime(), "index": IndexConfig(), "backbone": backbone})
