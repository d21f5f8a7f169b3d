"""Figures as people read them."""


def format_figure(value: float | None, decimals: int = 1) -> str:
    """A figure with a true minus sign, a dash where undefined."""
    return "–" if value is None else f"{value:z.{decimals}f}".replace("-", "−")
