"""The assumptions file in use, under the keys that docs/reference/model.md cites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from planopt_reference import units
from planopt_reference.engines import Engine, engine_from_table
from planopt_reference.reached import Compute, Reached, ScaleUp
from planopt_reference.trainers import Trainers

if TYPE_CHECKING:
    from planopt_reference.hardware import Accelerator

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Memory:
    """Section `[memory]`: bytes, tokens, shares."""

    usable_fraction: float
    unified_usable_fraction: float
    overhead: float
    overhead_group: float
    page_tokens: int
    workspace_tokens: int
    step_logits: bool
    flash_attention: bool
    input_copies: int


@dataclass(frozen=True)
class Communication:
    """Section `[communication]`: shares, seconds."""

    all_reduce: str
    pcie_overhead: float
    pcie_efficiency: float
    pcie_latency: float
    pcie_host_latency: float
    tcp_efficiency: float
    tcp_latency: float
    rdma_efficiency: float
    rdma_latency: float
    hop_payload: str
    return_hop: bool


@dataclass(frozen=True)
class Experts:
    """Section `[experts]`: the busiest rank over the mean."""

    imbalance: float = 1.0


@dataclass(frozen=True)
class Training:
    """Section `[training]`: shares, bytes, seconds, bytes/s (training.md)."""

    usable_fraction: float
    overhead: float
    attention_efficiency: float
    half_outputs: float
    tensor_overlap: float
    tensor_contention: float
    context_overlap: float
    pipeline_overlap: float
    data_overlap: float
    offload_overlap: float
    contention: float
    straggler_spread: float
    expert_imbalance: float
    host_memory_bandwidth: float
    accelerator_mtbf: float
    host_mtbf: float
    storage_bandwidth: float
    storage_limit: float
    restart: float
    carbon_kg_per_kwh: float
    overhead_group: float = 0.0
    repair: float = 0.0
    spare_availability: float = 0.0
    dequantisation: float = 1.0


@dataclass(frozen=True)
class Cost:
    """Section `[cost]`: years, shares, dollars."""

    years: float
    residual: float
    electricity_usd_per_kwh: float
    duty: float
    pue: float
    rack_usd_per_month: float
    rack_units: float
    load_fraction: float
    colocation_usd_per_kw_month: float = 0.0
    support_per_year: float = 0.0
    staff_usd_per_rack_year: float = 0.0
    wacc: float = 0.0
    regained: float = 0.0
    front_end_usd_per_accelerator: float = 0.0
    management_usd_per_host: float = 0.0
    storage_usd_per_accelerator: float = 0.0
    racks_usd_per_rack: float = 0.0
    rack_kilowatts: float = 0.0
    freight: float = 0.0
    spares: float = 0.0
    memory_usd_per_tb: float = 0.0
    cache_disk_usd: float = 0.0
    memory_bytes: float = 0.0
    """That each host is bought with for KV caches; so are disks."""
    disks: float = 0.0
    carbon_kg_per_kwh: float | None = None


@dataclass(frozen=True)
class Assumptions:
    """A named set of assumptions."""

    id: str
    hardware: str
    pcie_all_reduce: str
    switch_port_block: int | None
    host_limits: bool
    power_limit_exponent: float | None
    memory: Memory
    communication: Communication
    experts: Experts
    training: Training | None
    cost: Cost
    reached: Reached
    trainers: Trainers
    engines: Mapping[str, Engine]

    def under(self, engine: str | None, step_tokens: int | None = None) -> Assumptions:
        """Return what an engine makes of them; none, as kernels were measured."""
        if engine is None:
            return self
        runs = self.engines[engine]
        held = dict(self.reached.table["engines"][engine].get("memory", {}))
        if step_tokens is not None and runs.prompt_chunk is not None:
            runs = replace(runs, prompt_chunk=step_tokens)
            held["workspace_tokens"] = step_tokens
        reached = replace(self.reached, engine=runs)
        return replace(
            self,
            reached=reached,
            memory=_memory({**self.reached.table["memory"], **held}),
        )

    def compute(self, accelerator: Accelerator) -> Compute:
        """Return what an accelerator reaches."""
        return self.reached.compute(accelerator)

    def scale_up(self, accelerator: Accelerator) -> ScaleUp:
        """Return what collectives over its scale-up link reach."""
        return self.reached.scale_up(accelerator.scale_up_name)


def _memory(table: Table) -> Memory:
    return Memory(
        usable_fraction=units.share(table["usable_fraction"]),
        unified_usable_fraction=units.share(table["unified_usable_fraction"]),
        overhead=units.quantity(table["overhead"], "bytes"),
        overhead_group=units.quantity(table["overhead_group"], "bytes"),
        page_tokens=units.count(table["page_tokens"]),
        workspace_tokens=units.count(table["workspace_tokens"]),
        step_logits=bool(units.unwrapped(table.get("step_logits", False))),
        flash_attention=bool(units.unwrapped(table.get("flash_attention", True))),
        input_copies=units.count(table.get("input_copies", 0)),
    )


def _communication(table: Table) -> Communication:
    return Communication(
        all_reduce=str(units.unwrapped(table["all_reduce"])),
        pcie_overhead=units.seconds(table.get("pcie_overhead", "0 s")),
        pcie_efficiency=units.share(table["pcie_efficiency"]),
        pcie_latency=units.seconds(table["pcie_latency"]),
        pcie_host_latency=units.seconds(table["pcie_host_latency"]),
        tcp_efficiency=units.share(table["tcp_efficiency"]),
        tcp_latency=units.seconds(table["tcp_latency"]),
        rdma_efficiency=units.share(table["rdma_efficiency"]),
        rdma_latency=units.seconds(table["rdma_latency"]),
        hop_payload=str(units.unwrapped(table["hop_payload"])),
        return_hop=bool(units.unwrapped(table["return_hop"])),
    )


_TRAINING_DIMENSIONS: Final = {
    "overhead": "bytes",
    "overhead_group": "bytes",
    "host_memory_bandwidth": "bytes/s",
    "accelerator_mtbf": "seconds",
    "host_mtbf": "seconds",
    "storage_bandwidth": "bytes/s",
    "storage_limit": "bytes/s",
    "restart": "seconds",
    "repair": "seconds",
}


def _training(table: Table) -> Training:
    """Read the section; a figure without a dimension is a plain number."""

    def read(key: str) -> float:
        if key in _TRAINING_DIMENSIONS:
            return units.quantity(table[key], _TRAINING_DIMENSIONS[key])
        return units.share(table[key])

    stated = [
        field.name
        for field in fields(Training)
        if field.name in table or field.default is MISSING
    ]
    return Training(**{name: read(name) for name in stated})


def _experts(table: Table) -> Experts:
    return Experts(**{key: units.share(figure) for key, figure in table.items()})


# Section 7, `--cost-line`: lines go by shorter names than their figures.
_LINES: Final = {
    "colocation": "colocation_usd_per_kw_month",
    "support": "support_per_year",
    "front_end": "front_end_usd_per_accelerator",
    "management": "management_usd_per_host",
    "storage": "storage_usd_per_accelerator",
    "racks": "racks_usd_per_rack",
}


def of_lines(cost: Mapping[str, float]) -> dict[str, float]:
    """Return what a question says of costs, by the names of `Cost`."""
    return {_LINES.get(name, name): figure for name, figure in cost.items()}


def _usd(table: Table, key: str) -> float:
    return units.price(table.get(key, "$0")) / units.MICRO_USD_PER_USD


def _cost(table: Table) -> Cost:
    return Cost(
        years=units.share(table["years"]),
        residual=units.share(table["residual"]),
        electricity_usd_per_kwh=units.dollars_per(table["electricity"], "kWh"),
        duty=units.share(table["duty"]),
        pue=units.share(table["pue"]),
        rack_usd_per_month=units.dollars_per(table["rack"], "month"),
        rack_units=units.share(table["rack_units"]),
        load_fraction=units.share(table["load_fraction"]),
        colocation_usd_per_kw_month=units.dollars_per(
            table.get("colocation", "$0/month"), "month"
        ),
        support_per_year=units.share(table.get("support", 0)),
        staff_usd_per_rack_year=_usd(table, "staff"),
        wacc=units.share(table.get("wacc", 0)),
        regained=units.share(table.get("regained", 0)),
        front_end_usd_per_accelerator=_usd(table, "front_end"),
        management_usd_per_host=_usd(table, "management"),
        storage_usd_per_accelerator=_usd(table, "storage"),
        racks_usd_per_rack=_usd(table, "racks"),
        rack_kilowatts=units.share(table.get("rack_kilowatts", 0)),
        freight=units.share(table.get("freight", 0)),
        spares=units.share(table.get("spares", 0)),
        memory_usd_per_tb=_usd(table, "memory"),
        cache_disk_usd=_usd(table, "disks"),
        carbon_kg_per_kwh=(
            units.share(table["carbon_kg_per_kwh"])
            if "carbon_kg_per_kwh" in table
            else None
        ),
    )


def _switch_port_block(sale: object) -> int | None:
    """Return the ports of a block, or none where switches are sold whole."""
    if isinstance(sale, dict) and "port_blocks" in sale:
        return units.count(sale["port_blocks"])
    return None


def assumptions_from_table(table: Table) -> Assumptions:
    """Build assumptions from their file.

    Parameters
    ----------
    table : mapping
        An assumptions file as read from TOML.

    Returns
    -------
    Assumptions
        With every figure in its base unit.

    Raises
    ------
    KeyError
        If a key is missing.
    planopt_reference.units.UnitError
        If a figure has another unit than its key asks for.
    """
    return Assumptions(
        id=table["id"],
        hardware=str(units.unwrapped(table.get("hardware", ""))),
        pcie_all_reduce=str(units.unwrapped(table["pcie_all_reduce"])),
        switch_port_block=_switch_port_block(table["switch_sale"]),
        power_limit_exponent=(
            units.share(table["power_limit_exponent"])
            if "power_limit_exponent" in table
            else None
        ),
        host_limits=bool(units.unwrapped(table.get("host_limits", False))),
        memory=_memory(table["memory"]),
        communication=_communication(table["communication"]),
        experts=_experts(table.get("experts", {})),
        training=_training(table["training"]) if "training" in table else None,
        cost=_cost(table["cost"]),
        reached=Reached(table),
        engines={
            name: engine_from_table(own)
            for name, own in table.get("engines", {}).items()
        },
        trainers=Trainers(table),
    )
