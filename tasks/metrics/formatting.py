"""Formatting of metrics for people."""


def format_figure(value: float | None, decimals: int = 1) -> str:
    """Format a value with a minus sign, or as a dash if it is undefined."""
    return "–" if value is None else f"{value:z.{decimals}f}".replace("-", "−")
