"""What to know before acting on a plan, whatever it plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.documents.parts import PlanWarning
from planopt.price_sources import GIVEN, OLD_PRICE_DAYS, age_days

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from planopt.catalog.open import Catalog
    from planopt.documents.parts import BomLine


KNIFE_EDGE = 0.2
"""Share of the target by which a speed must clear it to be believed."""


FULL_MEMORY = 0.97
"""Share of the memory that may be used above which a fit is a knife edge: the overheads
assumed differ by more from engine to engine."""


def memory_warnings(
    total_bytes: float, capacity_bytes: float, help_: str
) -> Iterator[PlanWarning]:
    """Warn of memory that is nearly full."""
    full = total_bytes / capacity_bytes if capacity_bytes else 0.0
    if full > FULL_MEMORY:
        yield PlanWarning(
            code="W001",
            message=(
                f"the fullest accelerator is {full:.1%} full of what may be used: "
                "a knife edge"
            ),
            help=help_,
        )


def licence_warnings(
    catalog: Catalog, accelerators: Iterable[str], *, datacenter: bool
) -> Iterator[PlanWarning]:
    """Warn of parts that may not be used in data centers, unless they were left out."""
    if datacenter:
        return
    for accelerator in sorted(accelerators):
        entry = catalog.show("accelerators", accelerator)
        allowed = {f["field"]: f["text"] for f in entry["figures"]}
        if allowed.get("datacenter_licence") == "false":
            yield PlanWarning(
                code="W003",
                message=f"the driver licence of {entry['name']} forbids data centers",
                help="--datacenter leaves such parts out",
            )


def price_warnings(bill: Sequence[BomLine]) -> Iterator[PlanWarning]:
    """Warn of prices remembered rather than read, and of prices that are old."""
    remembered, old, undated = [], [], []
    for line in bill:
        if not (line.unit_price_usd or line.unit_usd_per_hour):
            continue
        if line.price_status in (None, GIVEN):
            continue
        age = age_days(line.price_date)
        if age is None:
            undated.append(line.name)
        elif age > OLD_PRICE_DAYS:
            old.append(f"{line.name} ({line.price_date})")
        if line.price_status == "from-memory":
            remembered.append(line.name)
    if remembered:
        yield PlanWarning(
            code="W002",
            message=f"prices from memory, to be checked: {', '.join(remembered)}",
        )
    if undated:
        yield PlanWarning(
            code="W006",
            message=f"prices of a list without a date: {', '.join(undated)}",
            help="say today's: --price ID=USD, or an overlay with --catalog DIR",
        )
    if old:
        yield PlanWarning(
            code="W006",
            message=f"prices older than a year: {', '.join(old)}",
            help="say today's: --price ID=USD, or an overlay with --catalog DIR",
        )
