"""Licences of network weights, as far as their names tell."""

import re

NON_COMMERCIAL = re.compile(r"\bnc\b|non-?commercial|research|apple-amlr", re.IGNORECASE)


def describe_licence(licence: str) -> str:
    """Name the licence of a network's weights, and say so if it forbids commercial use."""
    restriction = ", which forbids commercial use" if NON_COMMERCIAL.search(licence) else ""
    return f"licence of its weights: {licence or 'unknown'}{restriction}"
