import pytest

from tasks.metrics.formatting import format_figure


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [(None, 1, "–"), (1.25, 1, "1.2"), (-0.04, 1, "0.0"), (-3, 2, "−3.00"), (50, 0, "50")],
)
def test_figures_are_written_with_a_true_minus_sign(value: float | None, decimals: int, text: str) -> None:
    assert format_figure(value, decimals) == text
