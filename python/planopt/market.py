"""What may be bought, within which limits, and how long is looked: of any question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec import structs

from planopt.catalog.entries import Pricing
from planopt.catalog.open import BUNDLED, Catalog, date_of, newer
from planopt.confidence import factors, left_out, share
from planopt.documents.parts import Assumed
from planopt.documents.plan import Request
from planopt.options import Asked, flag

if TYPE_CHECKING:
    from typing_extensions import Self


CLASSES: Final = ("hyperscaler", "cloud", "marketplace")
"""Who answers for a machine that is rented."""

MarketT = TypeVar("MarketT", bound="Market")


class Market(Request, frozen=True, kw_only=True):
    """A question as a plan records it, with how the core is asked it."""

    top: int
    time_limit_seconds: float
    assumptions: str
    asked: dict[str, Any]  # As a door of the core takes it
    assumed: tuple[Assumed, ...] = ()
    slower: dict[str, float] = msgspec.field(default_factory=dict)
    """How many times longer than predicted steps are judged to be, by accelerator."""
    is_brief: bool = False
    """Whether it is asked for a figure beside a plan, and nothing is bought."""
    left_out: tuple[str, ...] = ()  # Accelerators of which too little was measured

    @property
    def rents(self) -> bool:
        """Whether anything may be rented."""
        return self.procurement in ("rent", "both")

    def rent_request(self) -> dict[str, object]:
        """Put what may be rented as the core takes it; nothing named is all of it."""
        return {
            "terms": self.billing or ("on-demand",),
            "providers": self.providers,
            "regions": self.regions,
            "classes": self.provider_classes,
        }

    def rack_units(self, catalog: Catalog) -> float | None:
        """Return the height there is, in rack units, if it is limited."""
        if self.max_racks is None:
            return None
        return self.max_racks * catalog.cost.rack_units

    def counted(self, catalog: Catalog) -> Catalog:
        """Return the catalog with the prices, costs and power that are asked for."""
        paid = catalog.paid(Pricing.of(self)).with_cost(self.cost)
        return paid if self.max_power_watts is None else paid.with_lower_power()

    def counts_as(self, other: Self) -> bool:
        """Whether parts and hours cost the same as in another question."""
        return Pricing.of(self) == Pricing.of(other) and self.cost == other.cost

    def judged_as(self, other: Self) -> Self:  # noqa: ARG002 - of serving alone
        """Take over what another question has learned, and nobody typed."""
        return self

    def request(self) -> Request:
        """Put the question as a plan records it."""
        return msgspec.convert(self, Request, from_attributes=True)


def must_name_accelerators(asked: Asked) -> None:
    """Refuse a comparison of nothing."""
    if not asked.given.get("accelerators"):
        asked.problem(
            "E005",
            "which accelerators?",
            option="accelerators",
            accepted="ids between commas, such as rtx-4090,a100-sxm-80,h100-sxm",
        )


def read_market(asked: Asked, catalog: Catalog, of: type[MarketT]) -> MarketT:
    """Read what a question asks, with how it was written."""
    (market,) = read_markets(asked, catalog, of, [asked])
    return market


def read_markets(
    asked: Asked, catalog: Catalog, of: type[MarketT], edited: Iterable[Asked]
) -> list[MarketT]:
    """Read the same in the words of each of some edits of it, at once."""
    return [
        structs.replace(
            market,
            catalog=catalog.overlays,
            typed=asked.typed,
            assumed=(*market.assumed, *said_by_files(asked)),
            slower=factors(catalog, market, share(market.confidence)),
            left_out=left_out(catalog, market),
        )
        for market in asked.questions(catalog.native, of, edited)
    ]


def said_by_files(asked: Asked) -> Iterator[Assumed]:
    """Say what `planopt.toml` has said, and which one; and whose catalogs these are."""
    installed = newer()
    if installed is not None:
        dates = f"{date_of(installed)}, in place of {date_of(BUNDLED)}"
        why = "planopt-catalog is installed, and newer"
        yield Assumed(name="catalogs", value=dates, why=why)
    for name, default in asked.defaults.items():
        yield Assumed(name=flag(name)[2:], value=default.text, why=default.file)
