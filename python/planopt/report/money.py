"""Money as people read it."""

from planopt.price_sources import dollars
from planopt.report.numbers import told
from planopt.report.style import UNKNOWN

_NO_CENTS = 100.0
"""Dollars from which on nobody asks for cents."""
money_per_million = told("${}")
money_per_hour = told("${}/h")


def money(usd: float | None, *, rough: bool = False, whole: bool = False) -> str:
    """Dollars, below a hundred to the cent; a rough sum to three digits."""
    if usd is None:
        return UNKNOWN
    return dollars(usd, rough=rough, whole=whole or usd >= _NO_CENTS)
