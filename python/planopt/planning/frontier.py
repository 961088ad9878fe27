"""The Pareto frontier of units: price against users, speed and throughput."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from planopt.catalog.open import open_for
from planopt.documents.base import Drawn
from planopt.market import read_market
from planopt.options import Asked
from planopt.serving.question_types import Problem
from planopt.serving.search import Aim, find_units
from planopt.steps import Steps
from planopt.units import MICRO_USD

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow
    from typing_extensions import Unpack

    from planopt.option_types import FrontierOptions
    from planopt.steps import Step

DEFAULT_BATCHES = 512
"""Batches offered one by one: beyond the usual largest number of sequences of a serving
engine (vLLM's max_num_seqs is 256 by default)."""


COLUMNS = (
    *("accelerator", "host", "terms", "goodput", "network", "nics_per_host", "switch"),
    *("switch_port_blocks", "hosts", "accelerators", "tp", "cp", "dp", "ep", "pp"),
    *("batch", "in_flight", "is_build", "weights", "kv", "replicas", "users"),
    *("tokens_per_second_per_user", "tokens_per_second", "price_usd", "usd_per_hour"),
    *("power_watts", "rack_units"),
)
"""Columns of a frontier, in their order."""


@dataclass(frozen=True)
class Frontier(Drawn):
    """Units that no other one of the same accelerator beats in everything."""

    # Columns of one length, named as in plans, with their units in the names.
    columns: dict[str, list[object]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def to_dicts(self) -> list[dict[str, object]]:
        """Rows, as dictionaries."""
        names = tuple(self.columns)
        rows = zip(*self.columns.values(), strict=True)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def to_arrow(self) -> pyarrow.Table:
        """Table of pyarrow, which the extra ``planopt[arrow]`` brings."""
        import pyarrow

        return pyarrow.table(self.columns)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Let any reader of Arrow's PyCapsule protocol take the columns."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def frontier(
    *,
    on_progress: Callable[[Step], object] | None = None,
    **options: Unpack[FrontierOptions],
) -> Frontier:
    """List the units worth buying for a question, each batch that meets its target.

    Parameters
    ----------
    on_progress : callable, optional
        Told what is being done, and how far it is.
    **options
        Those of `planopt.solve` that choose units, and none that limit a purchase.

    Returns
    -------
    Frontier

    Raises
    ------
    InputError
        With a diagnostic for each option that cannot be used.

    Examples
    --------
    >>> import planopt
    >>> table = planopt.frontier(model="llama-3.1-8b", accelerators=["rtx-4090"])
    >>> len(table) > 0
    True
    """
    asked = Asked.by_user("frontier", options)
    opened = open_for(asked).watched(Steps(on_progress, "evaluating"))
    problem = read_market(asked, opened, Problem)
    counted = problem.counted(opened)
    found = find_units(counted, problem, Aim(each_batch_up_to=DEFAULT_BATCHES))
    rows = msgspec.structs.asdict(found.listed())
    capital, price = rows.pop("capital_micro_usd"), rows.pop("price_micro_usd")
    micro_usd = capital if problem.hourly else price
    rows["price_usd"] = [each / MICRO_USD for each in micro_usd]
    columns = {name: list(rows[name]) for name in COLUMNS} if len(found) else {}
    return Frontier(columns)
