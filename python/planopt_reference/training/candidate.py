"""What is asked of a training run, and what follows from it (section 1)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Section 1, Defaults.
_TOKENS_PER_STEP: Final = 4 * 2**20
_SEQUENCE: Final = 4096

# Section 5, modules of `recompute`, and those that a whole network includes.
MODULES: Final = (
    *("core_attn", "layernorm", "mla_up_proj"),
    *("mlp_act", "moe_act", "mlp", "moe"),
)
_INCLUDED: Final = {"mlp": "mlp_act", "moe": "moe_act", "selective": "core_attn"}

_WORDS: Final = {
    "schedule": (
        *("1f1b", "gpipe", "interleaved"),
        *("zb-h1", "zb-h2", "zb-v", "dualpipe"),
    ),
    "lora_modules": ("all", "attention"),
    "context_parallel": ("ring", "all-to-all"),
    "recompute": ("none", "selective", "full", "block", "layers", *MODULES),
    "shard": ("none", "zero1", "zero2", "zero3"),
    "precision": ("bf16", "fp16", "fp8", "nvfp4", "fp32"),
    "gradients": ("fp32", "bf16", "fp16"),
    "optimizer": ("adam", "adam16bit", "adam8bit", "sgd", "adafactor", "muon"),
    "offload": ("optimizer", "activations"),
    "model_flops": ("full", "causal", "6nd"),
}


@dataclass(frozen=True)
class Candidate:
    """One configuration of a training run, in the words of its request."""

    tp: int = 1
    sequence_parallel: bool = False
    pp: int = 1
    schedule: str = "1f1b"
    vpp: int = 1
    dp: int = 1
    cp: int = 1
    context_parallel: str = "ring"
    ep: int = 1
    expert_tp: int | None = None
    micro_batch: int = 1
    global_batch: int = 1
    seq_len: int = _SEQUENCE
    mtp_modules: int = 0
    recompute: str = "none"
    shard: str = "none"
    shard_group: int | None = None
    precision: str = "bf16"
    gradients: str = "fp32"
    optimizer: str = "adam"
    master_weights: bool = True
    loss_chunks: int = 1
    framework: str = "megatron"
    offload: tuple[str, ...] = ()
    lora_rank: int | None = None
    lora_modules: str = "all"
    frozen_weights: str = "bf16"
    flash_attention: bool = True
    dropout: bool = False
    causal: bool = True
    redundancy: int | None = None
    tokens: float | None = None
    model_flops: str = "full"
    nominal_parameters: float | None = None
    mfu: float | None = None

    @property
    def accelerators(self) -> int:
        """Return `N`."""
        return self.tp * self.pp * self.dp * self.cp

    @property
    def dense_ranks(self) -> int:
        """Return `D`, the ranks with the same dense weights."""
        return self.dp * self.cp

    # Section 1, experts.
    @property
    def tp_of_experts(self) -> int:
        """Return `t_e`, the ranks that an expert is divided among."""
        return self.tp if self.expert_tp is None else self.expert_tp

    @property
    def folded(self) -> int:
        """Return `t / t_e`, tensor-parallel ranks with experts of their own."""
        return self.tp // self.tp_of_experts

    @property
    def expert_ranks(self) -> int:
        """Return `D_e`, the ranks with the same experts."""
        return self.dense_ranks * self.folded // self.ep

    @property
    def recomputed_modules(self) -> set[str]:
        """Return the modules that are recomputed in every layer."""
        named = set(self.recompute.split("+"))
        named |= {_INCLUDED[each] for each in named if each in _INCLUDED}
        return named & set(MODULES)

    @property
    def casts(self) -> bool:
        """Return whether products read copies of their inputs in fewer bits."""
        return self.precision in ("fp8", "nvfp4")

    @property
    def micro_batches(self) -> int:
        """Return `m`."""
        return self.global_batch // (self.dp * self.micro_batch)

    @property
    def tokens_of_micro_batch(self) -> float:
        """Return `T`, those of one rank."""
        return self.micro_batch * self.seq_len / self.cp

    @property
    def stream_share(self) -> float:
        """Return `sigma`, the share of the residual stream that a rank holds."""
        return 1 / self.tp if self.sequence_parallel else 1.0

    @property
    def is_sharded(self) -> bool:
        """Return whether anything is sharded over the data-parallel ranks."""
        return self.shard != "none"

    # Section 5, "Shard ranks are".
    @property
    def shard_ranks(self) -> int:
        """Return `G`, the ranks that shard dense parameters among each other."""
        if not self.is_sharded:
            return 1
        return self.shard_group or self.dense_ranks

    # Section 5, "Shard ranks are".
    @property
    def expert_shard_ranks(self) -> int:
        """Return `G_e`, the ranks that shard experts among each other."""
        if not self.is_sharded:
            return 1
        ranks = self.expert_ranks
        if self.shard_group is None:
            return ranks
        return min(max(self.shard_group * self.folded // self.ep, 1), ranks)

    def hosts(self, slots: int) -> int:
        """Return `H`, the hosts of `slots` accelerators each."""
        return ceil(self.accelerators / slots)


def candidate_from_request(
    request: Mapping[str, Any], *, longest_context: int, mtp_modules: int
) -> Candidate:
    """Fill in the defaults of a request.

    Parameters
    ----------
    request : mapping
        Options of a candidate by name; a missing one and `None` are its default.
    longest_context : int
        Tokens of the model's longest context.
    mtp_modules : int
        Modules of multi-token prediction that the model is published with.

    Returns
    -------
    Candidate
        With nothing left open.

    Raises
    ------
    ValueError
        If a word is no choice of its option.
    """
    given = {key: value for key, value in request.items() if value is not None}
    given["offload"] = tuple(given.get("offload", ()))
    given.setdefault("seq_len", min(_SEQUENCE, longest_context))
    given.setdefault("mtp_modules", 0 if "lora_rank" in given else mtp_modules)
    given.setdefault("schedule", "interleaved" if given.get("vpp", 1) > 1 else "1f1b")
    precision = given.get("precision", "bf16")
    given.setdefault("frozen_weights", precision)
    flash = given.get("flash_attention", True)
    given.setdefault("framework", "megatron" if flash else "megatron-2022")
    given.setdefault("global_batch", _usual_batch(given))
    _check_words(given)
    return Candidate(**given)


def _check_words(given: Mapping[str, Any]) -> None:
    for option, words in _WORDS.items():
        chosen = given.get(option, words[0])
        stated = chosen if option == "offload" else chosen.split("+")
        for word in stated:
            # `block:K` and `layers:K` have a count behind them.
            if word.partition(":")[0] not in words:
                message = f"no {option} `{word}`: one of {', '.join(words)}"
                raise ValueError(message)


# Section 1: "the multiple of `d b` nearest to `floor(2^22 / s)`, at least one".
def _usual_batch(given: Mapping[str, Any]) -> int:
    at_once: int = given.get("dp", 1) * given.get("micro_batch", 1)
    sequences: int = _TOKENS_PER_STEP // given["seq_len"]
    multiples = (sequences + at_once // 2) // at_once
    return max(multiples, 1) * at_once
