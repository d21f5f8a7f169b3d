import pytest

from tasks.metrics.formatting import format_difference, format_metric, format_with_interval


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [(None, 1, "–"), (1.25, 1, "1.2"), (-0.04, 1, "0.0"), (-3, 2, "-3.00"), (50, 0, "50")],
)
def test_metrics_are_text_that_programs_parse(value: float | None, decimals: int, text: str) -> None:
    assert format_metric(value, decimals) == text


def test_intervals_follow_in_brackets() -> None:
    assert format_with_interval(68.72, (-0.04, 70.1)) == "68.7 (0.0 to 70.1)"
    assert format_with_interval(68.72, None) == "68.7"
    assert format_with_interval(None, (1.0, 2.0)) == "–"


def test_differences_have_a_sign() -> None:
    assert format_difference(1.5, (-0.1, 3.0)) == "+1.5 (-0.1 to 3.0)"
    assert format_difference(-1.5, (-3.0, 0.1)) == "-1.5 (-3.0 to 0.1)"
    assert format_difference(None, None) == "–"
