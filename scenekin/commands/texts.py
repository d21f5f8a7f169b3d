"""Sentences that several commands say."""

from collections.abc import Sequence

from tasks.metrics.wording import figure_text


def interval_text(interval: Sequence[float] | None) -> str:
    """In brackets, nothing where undefined."""
    return "({}–{})".format(*map(figure_text, interval)) if interval is not None else ""


def problems_text(counts: dict[str, int]) -> list[str]:
    """Of a collection's problems how many there are of each kind."""
    told = ", ".join(f"{kind} {count:,}" for kind, count in counts.items())
    return [f"  of the collection: {told}; `scenekin check` names them"] if told else []
