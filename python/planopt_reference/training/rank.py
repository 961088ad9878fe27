"""One rank of a training run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt_reference.formats import bytes_per_element

if TYPE_CHECKING:
    from planopt_reference.operations import MatMul, Model
    from planopt_reference.training.candidate import Candidate
    from planopt_reference.training.groups import Groups
    from planopt_reference.training.rates import Machine

# Section 4: products of attention, by the names of model.md.
_OF_ATTENTION = (
    *("query", "query_key", "query_key_value", "query_down", "query_up"),
    *("key_value_down", "key_value_up", "attention_output"),
)


@dataclass(frozen=True)
class Rank:
    """One rank of a training run: what it works on, with what, and with whom."""

    candidate: Candidate
    model: Model
    machine: Machine
    groups: Groups

    @property
    def tokens(self) -> float:
        """Return `T`."""
        return self.candidate.tokens_of_micro_batch

    @property
    def stream(self) -> float:
        """Return `T h sigma`, elements of the residual stream that it holds."""
        return self.tokens * self.model.hidden * self.candidate.stream_share

    @property
    def payload(self) -> float:
        """Return `S = T h B_a`, the bytes of an all-reduce."""
        return self.tokens * self.model.hidden * self.machine.activation_bytes

    # Section 4, "`lora_modules`".
    def has_adapter(self, operation: MatMul) -> bool:
        """Return whether a product has an adapter beside it."""
        candidate = self.candidate
        if candidate.lora_rank is None or not operation.quantised:
            return False
        return candidate.lora_modules == "all" or operation.name in _OF_ATTENTION

    def needs_its_input(self, operation: MatMul) -> bool:
        """Return whether gradients of weights need what a product reads."""
        return self.candidate.lora_rank is None or self.has_adapter(operation)

    def input_bytes(self, operation: MatMul) -> float:
        """Return `B_x`, the bytes of an element that a product reads."""
        if self.candidate.casts and operation.quantised:
            return bytes_per_element(self.candidate.precision)
        return self.machine.activation_bytes

    def bytes_between_products(self, operation: MatMul) -> float:
        """Return the bytes of what is sent to experts, and read by activations."""
        if self.machine.framework.eight_bit_activations:
            return self.input_bytes(operation)
        return self.machine.activation_bytes

    def stored_bytes(self, operation: MatMul) -> float:
        """Return the bytes of an element of a matrix as it is kept."""
        if self.candidate.lora_rank is not None and operation.quantised:
            return bytes_per_element(self.candidate.frozen_weights)
        return self.input_bytes(operation)

    def weight_bytes(self, operation: MatMul) -> float:
        """Return `B_w`, the bytes of an element of a matrix as a product reads it."""
        return max(self.stored_bytes(operation), self.input_bytes(operation))

    def rate(self, operation: MatMul) -> float:
        """Return the FLOP/s of a product that are there for hours."""
        quantised = operation.quantised
        peak = self.machine.quantised if quantised else self.machine.base
        routed = operation.experts > 1
        return peak * self.machine.sustained(quantised=quantised, routed=routed)

    def degree(self, operation: MatMul) -> int:
        """Return the ranks that a matrix is divided among, `t` or `t_e`."""
        candidate = self.candidate
        return candidate.tp_of_experts if operation.experts > 1 else candidate.tp

    def tokens_of(self, operation: MatMul) -> float:
        """Return the tokens that a rank brings to a product."""
        return self.tokens * self.degree(operation) / self.candidate.tp

    def copies(self, operation: MatMul) -> float:
        """Return how many experts a token occupies, with their imbalance."""
        if operation.experts == 1:
            return 1.0
        return operation.active * self.machine.training.expert_imbalance
