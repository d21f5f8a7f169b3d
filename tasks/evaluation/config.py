"""The poolings of the untrained baselines."""

from tasks.model.config import PoolingConfig

GAP = PoolingConfig(kind="gap")
RMAC_MAX = PoolingConfig(kind="rmac_max")
RMAC_MEAN = PoolingConfig(kind="rmac_mean")
BLOCKS = PoolingConfig(kind="blocks")
BASELINE_POOLINGS = (GAP, RMAC_MAX, RMAC_MEAN, BLOCKS)
