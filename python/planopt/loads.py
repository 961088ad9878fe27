"""Loads: what arrives and how long it is, of which latencies come."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean
from typing import Literal

import msgspec
from msgspec import Struct

from planopt.catalog.open import Catalog
from planopt.documents.evaluation import (
    CacheTier,
    Percentiles,
    PrefixCache,
    Sessions,
    Transfer,
    UnderLoad,
)
from planopt.documents.parts import Rejection

ONE_SIDED = 1.645  # Standard errors above which a normal variable is in 5 % of cases


TIERS = ("host", "disk")
"""Memories behind that of the accelerators: of their hosts, and disks of these."""


class Arrivals(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """When requests arrive; each kind has figures of its own."""

    kind: Literal["poisson", "gamma", "closed", "trace"]
    per_second: float | None = None
    cv: float | None = None
    """Standard deviation of the times between them over their mean."""
    users: int | None = None
    """Who each wait for their answer; none where requests come of their own accord."""
    start: Literal["together"] | None = None
    """Whether all users ask at once when the doors open."""
    seconds: list[float] | None = None  # Since the start, in growing order


class Length(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many tokens a prompt or an answer has."""

    kind: Literal["fixed", "uniform", "lognormal"]
    tokens: int | None = None
    mean: int | None = None
    cv: float | None = None
    least: int | None = None
    most: int | None = None

    @classmethod
    def about(cls, mean: int, cv: float | None) -> Length:
        """Spread about a mean; without a spread, always as many."""
        if cv is None:
            return cls(kind="fixed", tokens=mean)
        return cls(kind="lognormal", mean=mean, cv=cv)

    @classmethod
    def between(cls, least: int, most: int) -> Length:
        """Draw evenly between a least and a most."""
        if least == most:
            return cls(kind="fixed", tokens=most)
        return cls(kind="uniform", least=least, most=most)


class Hashed(Struct, frozen=True, kw_only=True):
    """Prompts in pieces of which it is known which are alike."""

    tokens: int  # Of a piece; the last of a prompt may have fewer
    pieces: list[list[int]]
    """Of each prompt: those alike, and alike before, have one number."""


class Sizes(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Prompts and answers: drawn on their own, or pairs as they were seen."""

    kind: Literal["independent", "pairs"]
    prompt: Length | list[int]
    output: Length | list[int]
    hashed: Hashed | None = None  # What prompts begin with, where that is known


class Load(Struct, frozen=True, kw_only=True):
    """A load, as the core takes it."""

    arrivals: Arrivals
    sizes: Sizes
    prefix_hit_rate: float = 0.0  # Share of every prompt that is found in a cache
    sessions: dict[str, object] | None = None
    """How turns follow each other where users are sessions, as the core takes it."""

    def of_users(self, users: int) -> Load:
        """Return the same from so many users, of whom each waits for his answer."""
        start = self.arrivals.start
        arrivals = Arrivals(kind="closed", users=users, start=start)
        return msgspec.structs.replace(self, arrivals=arrivals)

    def shared(self, share: float) -> Load:
        """Return a share of it: of its users, or of its requests, handed out in turn.

        With prompts of which some are alike it is not turns that decide who gets which.
        """
        arrivals = self.arrivals
        if arrivals.users is not None:
            return self.of_users(max(1, round(arrivals.users * share)))
        if arrivals.per_second is None:
            return self
        arrivals = msgspec.structs.replace(
            arrivals, per_second=arrivals.per_second * share
        )
        if share < 1 and self.sizes.hashed is None:
            # A sum of gamma variates is one of a variation less by the root.
            cv = (arrivals.cv or 1.0) * share**0.5
            arrivals = msgspec.structs.replace(arrivals, kind="gamma", cv=cv)
        return msgspec.structs.replace(self, arrivals=arrivals)

    @property
    def mean_prompt(self) -> float:
        """Tokens of a prompt in the mean."""
        prompt = self.sizes.prompt
        if isinstance(prompt, list):
            return fmean(prompt)
        return float(prompt.tokens or prompt.mean or 0)


class Run(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How long a load is simulated."""

    requests: int
    seed: int = 0
    warm_up: int = 0  # Requests before those that are measured
    doors_close: bool = False  # Whether nobody comes after them
    ttft_seconds: float | None = None  # Promised; so is what follows
    tpot_seconds: float | None = None
    at: str | None = None  # Percentile, or mean, that both are judged at


class Share(Struct, frozen=True, kw_only=True):
    """A share of requests, with the standard error of its batches."""

    mean: float
    error: float

    @property
    def at_most(self) -> float:
        """What it is below with 95 % confidence."""
        return self.mean + ONE_SIDED * self.error


class SloViolation(Struct, frozen=True, kw_only=True):
    """Shares of requests that broke a promise."""

    ttft: Share
    tpot: Share


class SessionsKept(Struct, frozen=True, kw_only=True):
    """What the sessions of a replica keep, and what there is room for."""

    all_hit_rate: float
    needed_kv_tokens: float
    kv_tokens: int
    tier_tokens: tuple[int | None, ...] = ()
    """Of the memory of its hosts, and of their disks, where these have caches."""


class Latencies(Struct, frozen=True, kw_only=True):
    """What came of a load."""

    hit_rate: float | None = None
    """Share of the tokens of prompts that were found in the cache."""
    tier_hit_rates: tuple[float, ...] = ()
    """The part of it that came from the memory of hosts, and from their disks."""
    imbalance: float = 1.0
    """Tokens that the busiest replica reads over those of the mean one."""
    sessions_ended: int = 0
    kept: SessionsKept | None = None

    ttft_seconds: Percentiles
    tpot_seconds: Percentiles
    tokens_per_second: float
    requests_per_second: float
    goodput_share: float | None = None
    """Share of requests that kept all promises; none where nothing was promised."""
    slo_violation: SloViolation | None = None  # Of those that did not
    overloaded: bool = False
    users: int | None = None  # Who each wait for their answer
    missed: dict[str, float] = {}
    """Promises that were not kept, as multiples of them."""
    by: Literal["simulation", "estimate"] = "simulation"

    @property
    def concurrency(self) -> float | None:
        """Requests at the same time, by Little's law; none while a line grows."""
        if self.overloaded or self.users or not self.requests_per_second:
            return None if self.overloaded else self.users
        behind_first = self.tokens_per_second / self.requests_per_second - 1
        answer = (self.tpot_seconds.mean or 0.0) * behind_first
        return self.requests_per_second * ((self.ttft_seconds.mean or 0.0) + answer)

    @property
    def under_load(self) -> UnderLoad:
        """What it puts out meanwhile."""
        broke = self.slo_violation
        return UnderLoad(
            users=self.users,
            sessions=self._sessions if self.users else None,
            prefix_cache=None if self.users else self._cache,
            requests_per_second=self.requests_per_second,
            tokens_per_second=self.tokens_per_second,
            concurrency=self.concurrency,
            goodput=self.goodput_share,
            ttft_slo_violation=None if broke is None else broke.ttft.at_most,
            tpot_slo_violation=None if broke is None else broke.tpot.at_most,
            overloaded=self.overloaded,
            by=self.by,
        )

    @property
    def _cache(self) -> PrefixCache | None:
        kept = self.kept
        if kept is None:
            return None
        return PrefixCache(
            hit_rate=self.hit_rate or 0.0,
            all_hit_rate=kept.all_hit_rate,
            kv_tokens=kept.kv_tokens,
            needed_kv_tokens=round(kept.needed_kv_tokens),
            imbalance=self.imbalance,
            tiers=tuple(
                CacheTier(name, tokens, found)
                for name, tokens, found in zip(
                    TIERS, kept.tier_tokens, self.tier_hit_rates, strict=True
                )
                if tokens is not None
            ),
        )

    @property
    def _sessions(self) -> Sessions | None:
        cache = self._cache
        if cache is None:
            return None
        of_cache = msgspec.structs.asdict(cache)
        return Sessions(alive=self.users or 0, ended=self.sessions_ended, **of_cache)


class Outcome(Struct, frozen=True, kw_only=True):
    """The core's answer about a load on a configuration."""

    report: Latencies | None = None
    """None if the configuration does not work, or cannot keep up."""
    missed: tuple[tuple[str, float], ...] = ()
    rejections: tuple[Rejection, ...] = ()
    sessions: SessionsKept | None = None
    transfer: Transfer | None = None
    """How caches get to the replicas that answer, where those are others."""


def request(
    configuration: Mapping[str, object], load: Load, run: Run
) -> dict[str, object]:
    """Put a load on a configuration and its scheduler, as the core takes it."""
    parts: dict[str, object] = msgspec.to_builtins({"load": load, "run": run})
    return {**configuration, **parts}


def outcome(
    catalog: Catalog,
    door: str,
    configuration: Mapping[str, object],
    load: Load,
    run: Run,
) -> Outcome:
    """Simulate such a load, or estimate it."""
    found = catalog.ask(door, request(configuration, load, run), Outcome)
    if found.report is None:
        return found
    report = msgspec.structs.replace(
        found.report,
        users=load.arrivals.users,
        missed=dict(found.missed),
        kept=found.sessions,
        by="simulation" if door == "simulate_serving" else "estimate",
    )
    if not (run.ttft_seconds or run.tpot_seconds):
        report = msgspec.structs.replace(report, goodput_share=None, slo_violation=None)
    return msgspec.structs.replace(found, report=report)
