"""What a question about serving is made of."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import structs

from planopt.loads import Arrivals, Load, Sizes
from planopt.market import Market

Goal = Literal["cheapest", "throughput", "cost-per-token", "latency"]


class Problem(Market, frozen=True, kw_only=True):
    """A question of what to buy."""

    model: str
    objective: Goal
    concurrency: int
    prompt_tokens: int
    output_tokens: int
    context_tokens: int
    sizes: Sizes
    """Of prompts and outputs, as a load has them."""
    arrivals: Arrivals | None
    """When requests come; none where steps are judged, and no load."""
    session_load: dict[str, object] | None = None
    """How the turns of sessions follow each other, where users are these."""
    redundancy: dict[str, int | float]
    """What may fail with every promise still kept, by part; and the share of what is
    asked that one of them may take (``loss``)."""
    overlap: str
    steps: bool = False
    """Whether to say what one step of each limit is worth."""
    ttft_margin: float = 1.0
    """What the search may use of the time to the first token: less than all of it once
    a simulation has shown that it falls short."""
    tpot_margin: float = 1.0
    within_host: bool = False
    """Whether no replica may span hosts."""

    @property
    def finds(self) -> bool:
        """Whether prompts find in a cache what was read before."""
        return self.session_load is not None or self.sizes.hashed is not None

    @property
    def whole_load(self) -> Load | None:
        """The load that the whole purchase is judged under."""
        if self.arrivals is None:
            return None
        hits = self.prefix_hit_rate or 0.0
        return Load(
            arrivals=self.arrivals,
            sizes=self.sizes,
            prefix_hit_rate=hits,
            sessions=self.session_load,
        )

    @property
    def target(self) -> float:
        """Tokens per second of each user."""
        return self.target_tokens_per_second or 0.0

    @property
    def throughput(self) -> float:
        """Tokens per second of all users."""
        return self.throughput_tokens_per_second or 0.0

    @property
    def served(self) -> dict[str, Any]:
        """What is served, to which prompts and by what, as the core takes it."""
        return {name: self.asked[name] for name in ("model", "workload", "engine")}

    @property
    def judged(self) -> dict[str, Any]:
        """The same, with steps as long as the question's confidence has them."""
        engine = {**self.asked["engine"], "slower": self.slower}
        return {**self.served, "engine": engine}

    @property
    def money(self) -> float | None:
        """The budget of everything, in the money that is asked about."""
        return self.budget_usd_per_hour if self.hourly else self.budget_usd

    @property
    def limited(self) -> bool:
        """Whether anything limits the purchase from above."""
        money = self.budget_usd, self.budget_usd_per_hour
        return self.counted_out or any(limit is not None for limit in money)

    @property
    def counted_out(self) -> bool:
        """Whether anything but money limits it."""
        scarce = self.max_power_watts, self.max_racks, self.max_accelerators
        counted = bool(self.stock or self.own)
        return counted or any(limit is not None for limit in scarce)

    def judged_as(self, other: Problem) -> Problem:
        """Take over what another question has learned, and nobody typed."""
        return structs.replace(
            self,
            sizes=other.sizes if other.sizes.kind == "pairs" else self.sizes,
            ttft_margin=other.ttft_margin,
            tpot_margin=other.tpot_margin,
        )
