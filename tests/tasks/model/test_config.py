from hypothesis import given
from hypothesis import strategies as st

from tasks.model.config import PoolingConfig, features_file

poolings = st.builds(
    PoolingConfig,
    kind=st.sampled_from(["rmac_max", "rmac_mean", "gem", "gap", "blocks"]),
    scales=st.integers(1, 4),
    gem_power=st.floats(0.1, 10) | st.sampled_from([3.0, 3.0000001]),
)


def test_settings_that_a_kind_ignores_make_no_difference() -> None:
    assert PoolingConfig(kind="gap", scales=3) == PoolingConfig(kind="gap", gem_power=2) == PoolingConfig(kind="gap")
    assert PoolingConfig(kind="gem", scales=3) == PoolingConfig(kind="gem")
    assert PoolingConfig(kind="rmac_max", gem_power=2) == PoolingConfig(kind="rmac_max")
    assert PoolingConfig(scales=3) == PoolingConfig()
    assert PoolingConfig(kind="rmac_max", scales=3) != PoolingConfig(kind="rmac_max")
    assert PoolingConfig(kind="gem", gem_power=2) != PoolingConfig(kind="gem")


@given(poolings, poolings)
def test_two_poolings_never_share_a_file(one: PoolingConfig, other: PoolingConfig) -> None:
    """Two writers of one file leave an unreadable one."""
    assert (features_file(one) == features_file(other)) == (one == other)
