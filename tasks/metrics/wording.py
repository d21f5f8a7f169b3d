"""Figures as people read them."""


def figure_text(value: float | None, decimals: int = 1) -> str:
    """A figure with a true minus sign, a dash where undefined."""
    return "–" if value is None else f"{value:z.{decimals}f}".replace("-", "−")
