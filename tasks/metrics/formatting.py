"""Metrics as text."""


def format_metric(value: float | None, decimals: int = 1) -> str:
    """Format a metric so that programs can parse it; an en dash if it is undefined."""
    return "–" if value is None else f"{value:z.{decimals}f}"


def format_with_interval(value: float | None, interval: tuple[float, float] | None) -> str:
    """Format a metric with its interval, as in `68.7 (67.2 to 70.1)`."""
    bounds = "" if value is None or interval is None else " ({} to {})".format(*map(format_metric, interval))
    return f"{format_metric(value)}{bounds}"


def format_difference(value: float | None, interval: tuple[float, float] | None) -> str:
    """Format a difference with its sign and interval, as in `+1.5 (-0.1 to 3.0)`."""
    return f"{'+' if (value or 0) > 0 else ''}{format_with_interval(value, interval)}"
