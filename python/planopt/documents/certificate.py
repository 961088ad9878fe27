"""What proves the bound of a plan, in so few numbers that everything else follows."""

from typing import Literal

from msgspec import Struct


class RefusedRate(Struct, frozen=True, kw_only=True):
    """A rate that a simulation decided to miss what is promised, and of what."""

    part: int
    """Place of its format, and of bought or rented, among those that are asked for."""
    accelerator: str
    host: str
    network: str | None = None
    tp: int
    cp: int
    dp: int
    ep: int
    pp: int
    rate: float
    """Requests per second of a replica; users, where they wait for their answers."""


class Certificate(Struct, frozen=True, kw_only=True):
    """Dual value of the demand, and the rates that cut columns: held by `--proof`."""

    demand: Literal["concurrency", "throughput"]
    """What the purchase must supply: users, or tokens per second."""
    dual_micro_usd: int
    """Millionths of a dollar that no column supplies a unit of the demand below."""
    refused: tuple[RefusedRate, ...] = ()
    """Rates that simulations decided to miss what is promised."""
    digest: str
    """Of all this and the bound."""


class Proven(Struct, frozen=True, kw_only=True):
    """What a proof by simulation rests on, as the core tells it."""

    refused: tuple[RefusedRate, ...] = ()
    least_per_demand: float | None = None
    """Micro-dollars of a unit of the demand, at rates that nothing refuses."""
