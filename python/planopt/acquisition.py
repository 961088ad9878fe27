"""How hardware is come by: bought, rented, or whichever is cheaper by TCO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Way = Literal["buy", "rent", "both", "own"]
"""To buy for the least price; to rent, to buy or rent, or to own for the fewest dollars
per hour. The last is asked only to compare renting with."""


@dataclass(frozen=True, kw_only=True)
class Acquisition:
    """Whether hardware is bought or rented, and within what money.

    Where anything may be rented, money is dollars per hour: of what is bought, its
    purchase written off over the years of the assumptions, electricity and hosting.
    """

    way: Way = "buy"
    terms: tuple[str, ...] = ("on-demand",)
    providers: tuple[str, ...] = ()
    """Providers to rent from; empty for all."""
    regions: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    """Who answers for what is rented; empty for whoever does."""

    @property
    def hourly(self) -> bool:
        """Whether the best plan is the one of fewest dollars per hour."""
        return self.way != "buy"

    @property
    def rents(self) -> bool:
        """Whether anything may be rented."""
        return self.way in ("rent", "both")

    def rent_request(self) -> dict[str, object]:
        """Put what may be rented as the core takes it."""
        return {
            "terms": list(self.terms),
            "providers": list(self.providers),
            "regions": list(self.regions),
            "classes": list(self.classes),
        }


CLASSES: Final = ("hyperscaler", "cloud", "marketplace")
"""Who answers for a machine that is rented."""
BUYING: Final = Acquisition()
"""As long as nothing else is said."""


def is_offer(host: str) -> bool:
    """Whether a host is an instance for rent: ``provider/instance/region``."""
    return "/" in host
