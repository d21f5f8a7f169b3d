"""The stage that runs the frozen backbone once over the captioned images of a split."""

from collections.abc import Sequence

from storage.artifacts import Artifact
from tasks.caching import StageRun, stage
from tasks.features.config import FeaturesConfig
from tasks.model.config import BackboneConfig, PoolingConfig, joined
from tasks.model.weights import weights_digest

__all__ = ["extract_features", "features_of", "weights_digest"]


def features_of(
    backbones: Sequence[BackboneConfig], poolings: Sequence[PoolingConfig], beside: Sequence[BackboneConfig] = ()
) -> tuple[FeaturesConfig, ...]:
    """Return the features of each network that these poolings need; `beside` are other networks of the same model."""
    from tasks.model.architectures import networks_of

    networks = networks_of((*backbones, *beside))[: len(backbones)]
    return tuple(
        FeaturesConfig(network=each, poolings=tuple(wanted for wanted in poolings if each in joined(networks, wanted)))
        for each in networks
    )


@stage("features", libraries=("openvino", "pillow", "pillow-heif", "torch", "torchvision", "timm"))
def extract_features(run: StageRun, images: Artifact, split: str, config: FeaturesConfig, weights: str) -> None:
    """Compute the descriptors of captioned/<split>.parquet → a table by sha256 for each pooling, equal bytes once.

    `weights` is the digest of the backbone's weights. Raises InputError if an image can no longer be read.
    """
    from tasks.features.stage import extract_split

    recipes = {pooling: extract_features.key(config.network, pooling, weights) for pooling in config.poolings}
    extract_split(run, images, split, config, recipes)
