"""What products and passes over memory take (training.md, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from planopt_reference.derivation import formula
from planopt_reference.formats import activation_bytes, base_rate, quantised_rate

if TYPE_CHECKING:
    from planopt_reference.assumptions import Assumptions, Training
    from planopt_reference.hardware import Accelerator
    from planopt_reference.reached import Compute, Products
    from planopt_reference.trainers import Framework, Trainer

# Section 2: the product whose efficiency `compute.efficiency` is.
_LARGE_PRODUCT: Final = 8192


class UnstatedError(ValueError):
    """The assumptions say nothing of training."""


@dataclass(frozen=True)
class Product:
    """So many matrices, each of `rows` by `columns` over `depth`."""

    count: float
    rows: float
    columns: float
    depth: float

    @property
    def flops(self) -> float:
        """Return the FLOP of the product."""
        return 2 * self.count * self.rows * self.columns * self.depth


@dataclass(frozen=True)
class Machine:
    """An accelerator that trains in a precision.

    `base` and `quantised` are its peak rates in FLOP/s for operations at 16 (or 32)
    bits, and for those in the precision.
    """

    accelerator: Accelerator
    assumptions: Assumptions
    precision: str
    framework_name: str

    @property
    def base(self) -> float:
        """Return the FLOP/s of what is not quantised."""
        return base_rate(self.accelerator, self.assumptions, self.precision)

    @property
    def quantised(self) -> float:
        """Return the FLOP/s of what is quantised."""
        return quantised_rate(self.accelerator, self.assumptions, self.precision)

    @property
    def activation_bytes(self) -> float:
        """Return `B_a`."""
        return activation_bytes(self.precision)

    @property
    def training(self) -> Training:
        """Return the section `[training]` of the assumptions.

        Raises
        ------
        UnstatedError
            If there is none.
        """
        if self.assumptions.training is None:
            message = f"assumptions {self.assumptions.id} have no section `training`"
            raise UnstatedError(message)
        return self.assumptions.training

    @cached_property
    def framework(self) -> Framework:
        """Return what the framework adds."""
        return self.assumptions.trainers.framework(self.framework_name)

    @cached_property
    def trainer(self) -> Trainer:
        """Return what the accelerator reaches at training."""
        return self.assumptions.trainers.trainer(self.accelerator)

    # Section 2, "at sustained load".
    def sustained(self, *, quantised: bool, routed: bool = False) -> float:
        """Return the share of the peak that is there for hours."""
        own = self.trainer
        share = own.sustained
        if quantised:
            share = {"fp8": own.sustained_8bit, "nvfp4": own.sustained_4bit}.get(
                self.precision, share
            )
        if not routed:
            return share * own.clock
        narrow = self.precision in ("fp8", "nvfp4")
        return share * own.clock * (own.grouped_8bit if narrow else own.grouped)

    @cached_property
    def compute(self) -> Compute:
        """Return what the accelerator reaches."""
        return self.assumptions.compute(self.accelerator)

    @cached_property
    def general(self) -> Products:
        """Return the curve that products of all formats follow, and passes."""
        # Those of 16 bits are serving's; training is fitted on the general ones.
        return self.compute.products("fp32", experts=False)

    @property
    def bandwidth(self) -> float:
        """Return `W`, the bytes/s that memory reaches."""
        return self.accelerator.memory_bandwidth * self.general.bandwidth_efficiency

    @property
    def overhead(self) -> float:
        """Return the seconds that every operation takes besides."""
        return self.general.operation_overhead

    @property
    def efficiency(self) -> float:
        """Return `e`, what a large product reaches of the peak."""
        return self.general.efficiency

    # Section 2, whole.
    def whole(self, *widths: float) -> float:
        """Return the share of a rate that operands with rows of these widths reach."""
        aligned = all(width % 8 == 0 for width in widths)
        return 1.0 if aligned else self.assumptions.trainers.unaligned

    # Section 2, fill.
    def fill(self, product: Product) -> float:
        """Return the share of the tiles' outputs that are outputs of the product."""
        reached = self.general
        edges = (product.rows + reached.half_rows) * (
            product.columns + reached.half_columns
        )
        outputs = product.count * product.rows * product.columns
        return outputs / (product.count * edges + self.training.half_outputs)

    # Section 2, fill_0.
    @property
    def fill_of_large_product(self) -> float:
        """Return the fill that the efficiency was measured at."""
        outputs = _LARGE_PRODUCT**2
        return outputs / (outputs + self.training.half_outputs)

    # Section 2, t(n_m, r, n, k; X).
    @formula(
        "roofline(2 n_m r n k / (rate u whole e fill/fill_0 k/(k + half_depth)), "
        "X / (bandwidth bandwidth_efficiency)) + operation_overhead",
        section="2",
        unit="s",
        reads=(
            "accelerator.memory_bandwidth",
            "compute.efficiency",
            "compute.half_rows",
            "compute.half_columns",
            "compute.bandwidth_efficiency",
            "compute.operation_overhead",
            "training.half_outputs",
        ),
    )
    def product_time(self, product: Product, rate: float, moved: float) -> float:
        """Return the seconds of a product at a peak rate, `moved` bytes being moved."""
        reached = self.general
        depth = product.depth / (product.depth + reached.half_depth)
        filled = self.fill(product) / self.fill_of_large_product
        reached_rate = rate * reached.efficiency * filled * depth
        arithmetic = product.flops / reached_rate
        bandwidth = self.accelerator.memory_bandwidth * reached.bandwidth_efficiency
        seconds = self.compute.roofline(arithmetic, moved / bandwidth)
        return seconds + reached.operation_overhead

    # Section 2, a pass between products.
    def elementwise_time(self, moved: float) -> float:
        """Return the seconds to move so many bytes as the framework does."""
        return self.pass_time(moved * self.framework.elementwise)

    # Section 2, a pass.
    @formula(
        "bytes / W + overhead",
        section="2",
        unit="s",
        reads=("accelerator.memory_bandwidth",),
    )
    def pass_time(self, moved: float) -> float:
        """Return the seconds to move so many bytes."""
        return moved / self.bandwidth + self.overhead
