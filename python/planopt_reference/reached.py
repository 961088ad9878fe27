"""What accelerators and scale-up links reach (model.md, sections 3 and 4).

A table of an accelerator, or of its family where it has none, is laid over `[compute]`;
a table of a link over `[communication]`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from planopt_reference import units
from planopt_reference.engines import KERNELS, Engine
from planopt_reference.own_kernels import OwnKernels, own_kernels

if TYPE_CHECKING:
    from planopt_reference.hardware import Accelerator

Table = Mapping[str, Any]
# Section 2: formats of products that are not quantised.
_PLAIN: Final = ("fp32", "bf16", "fp16")
# Serving, section 2: of experts by the kernels that an engine runs.
_LAUNCHES: Final = {"trtllm-gen": 1}
_OF_EXPERTS: Final = 4


@dataclass(frozen=True)
class Products:
    """What products reach: shares, elements, seconds."""

    efficiency: float
    half_rows: float
    half_columns: float
    half_depth: float
    bandwidth_efficiency: float
    operation_overhead: float
    launches: int = 1
    """Of one of the two products of experts, where no graph has them."""


@dataclass(frozen=True)
class ScaleUp:
    """What collectives over a scale-up link reach: shares, seconds."""

    efficiency: float
    direct_efficiency: float
    latency: float
    overhead: float
    one_shot_latency: float
    two_shot_latency: float
    direct_limit: float
    bulk_latency: float
    bulk_efficiency: float


class Compute:
    """Section `[compute]` with what is laid over it, as an engine runs it."""

    def __init__(
        self,
        table: Table,
        engine: Engine = KERNELS,
        own: OwnKernels | None = None,
        graph_tokens: int = 0,
    ) -> None:
        self._table = table
        self.graph_tokens = graph_tokens
        self._products: dict[tuple[str | None, bool], Products] = {}
        self.engine = engine
        self.own = own
        self.fp16_accumulate = bool(units.unwrapped(table["fp16_accumulate"]))
        self.activation_traffic = bool(units.unwrapped(table["activation_traffic"]))
        self.attention_time = bool(units.unwrapped(table["attention_time"]))
        self.roofline_overlap = units.share(table.get("roofline_overlap", 1.0))
        self.attention_efficiency = (
            units.share(table["attention_efficiency"])
            * engine.arithmetic
            * engine.attention
        )
        self.half_prompt = units.share(table.get("half_prompt", 0.0))
        self.decode_attention_efficiency = (
            units.share(
                table.get("decode_attention_efficiency", table["attention_efficiency"])
            )
            * engine.arithmetic
            * engine.cache
        )
        self.kv_bandwidth_efficiency = (
            units.share(table["kv_bandwidth_efficiency"])
            * engine.bandwidth
            * engine.cache
        )
        self.kv_bandwidth_efficiency_8bit = (
            units.share(
                table.get(
                    "kv_bandwidth_efficiency_8bit", table["kv_bandwidth_efficiency"]
                )
            )
            * engine.bandwidth
            * engine.cache
        )
        self.attention_overhead = engine.overhead * units.seconds(
            table.get("attention_overhead", table["operation_overhead"])
        )
        self.step_overhead = (
            units.seconds(table["step_overhead"])
            if engine.step_overhead is None
            else engine.step_overhead
        )
        self.widening = units.share(table.get("widening", 0.0))
        if own is not None:
            # Serving, section 16: nothing is launched but layers.
            self.activation_traffic = False
            self.attention_efficiency = own.attention
            self.decode_attention_efficiency = own.attention
            self.half_prompt = 0.0
            self.attention_overhead = 0.0
            self.kv_bandwidth_efficiency = own.cache

    def products(self, weights: str | None, *, experts: bool) -> Products:
        """Return what products reach.

        Parameters
        ----------
        weights : str, optional
            Format of quantised products; none for others.
        experts : bool
            Whether of one matrix for each expert.
        """
        # Every product of every layer asks; there are a few answers.
        kind = (weights, experts)
        if kind not in self._products:
            self._products[kind] = self._read_products(weights, experts=experts)
        return self._products[kind]

    def _read_products(self, weights: str | None, *, experts: bool) -> Products:
        base = self._table
        launches = _OF_EXPERTS
        # Section 3: those of 16 bits were measured apart from training's.
        name = "bf16" if weights in (None, "fp16") else weights
        of_format = base.get("formats", {}).get(name, {})
        layers: list[Table] = [of_format, base]
        if experts:
            layers = [of_format.get("experts", {}), base.get("experts", {}), *layers]
            measured = of_format.get("kernels", {})
            preferred = self.engine.experts.get(str(name), [])
            runs = next((each for each in preferred if each in measured), None)
            if runs is not None:
                layers.insert(0, measured[runs])
                launches = _LAUNCHES.get(runs, launches)

        def found(key: str) -> object:
            return next(layer[key] for layer in layers if key in layer)

        engine = self.engine
        share = 1.0
        if weights is not None and weights not in _PLAIN:
            share *= engine.quantised
        return Products(
            efficiency=units.share(found("efficiency")) * engine.arithmetic * share,
            half_rows=(
                units.share(found("half_rows"))
                if engine.half_rows is None
                else engine.half_rows
            ),
            half_columns=units.share(found("half_columns")),
            half_depth=units.share(found("half_depth")),
            bandwidth_efficiency=(
                units.share(found("bandwidth_efficiency")) * engine.bandwidth * share
            ),
            operation_overhead=(
                0.0
                if self.own is not None
                else units.seconds(found("operation_overhead")) * engine.overhead
            ),
            launches=launches,
        )

    # Section 3, the first formula.
    def roofline(self, arithmetic: float, traffic: float) -> float:
        """Return the seconds of arithmetic and traffic that partly hide each other."""
        product = (1 - self.roofline_overlap) * arithmetic * traffic
        root = math.sqrt((arithmetic - traffic) ** 2 + 4 * product)
        return (arithmetic + traffic + root) / 2

    # Section 3, `x`: as a quotient, which loses no digits.
    def exposed(self, arithmetic: float, traffic: float) -> float:
        """Return the seconds of the shorter one that do not hide behind the longer."""
        if self.roofline_overlap == 1:
            return 0.0
        product = (1 - self.roofline_overlap) * arithmetic * traffic
        apart = abs(arithmetic - traffic)
        root = math.hypot(apart, 2 * math.sqrt(product))
        return 2 * product / (apart + root) if product else 0.0


@dataclass(frozen=True)
class Reached:
    """The assumptions file, as far as it says what hardware reaches."""

    table: Table
    engine: Engine = KERNELS
    _known: dict[tuple[str, str], Compute] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def compute(self, accelerator: Accelerator) -> Compute:
        """Return what an accelerator reaches: as measured, else as its family does."""
        kind = (accelerator.model_id, accelerator.family)
        if kind not in self._known:
            self._known[kind] = self._read_compute(accelerator)
        return self._known[kind]

    def _read_compute(self, accelerator: Accelerator) -> Compute:
        general = self.table["compute"]
        own = self.table.get("accelerators", {}).get(accelerator.model_id)
        family = self.table.get("families", {}).get(accelerator.family, {})
        table = _laid_over(general, family if own is None else own)
        kernels = own_kernels(self.engine.kernels, accelerator.family)
        name = accelerator.family if own is None else accelerator.model_id
        engine = self.engine
        if engine.layer_overhead is not None and name in self.table.get(
            "dependent_launches", ()
        ):
            layer = max(engine.layer_overhead - engine.dependent_launch, 0.0)
            engine = replace(engine, layer_overhead=layer)
        return Compute(table, engine, kernels, engine.graph_tokens(accelerator))

    # Section 4, Scale-up.
    def scale_up(self, link: str | None) -> ScaleUp:
        """Return what collectives over a scale-up link reach."""
        own = self.table.get("links", {}).get(link, {})
        table = _laid_over(self.table["communication"], own)
        # What is not there is never the fastest way.
        never = "1e300 s"
        return ScaleUp(
            efficiency=units.share(table["scale_up_efficiency"]),
            direct_efficiency=units.share(
                table.get("direct_efficiency", table["scale_up_efficiency"])
            ),
            latency=units.seconds(table["scale_up_latency"]),
            overhead=units.seconds(table.get("collective_overhead", "0 s")),
            one_shot_latency=units.seconds(table["one_shot_latency"]),
            two_shot_latency=units.seconds(table.get("two_shot_latency", never)),
            direct_limit=units.quantity(table.get("direct_limit", "1e300 B"), "bytes"),
            bulk_latency=units.seconds(table.get("bulk_latency", never)),
            bulk_efficiency=units.share(table.get("bulk_efficiency", 1.0)),
        )


def _laid_over(general: Table, own: Table) -> dict[str, Any]:
    """Return a table with the figures of another in their place, table by table."""
    merged = dict(general)
    for key, figure in own.items():
        inner = isinstance(figure, Mapping) and "value" not in figure
        merged[key] = _laid_over(general.get(key, {}), figure) if inner else figure
    return merged
