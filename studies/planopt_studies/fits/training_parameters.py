"""What is fitted of training: per framework, per family, per accelerator; no model."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Final

from planopt_studies.fits.parameters import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["POOLS", "SWITCHES", "training_parameters"]

POOLS: Final = "pools."
"""Beginning of the tables of figures that others are drawn to; no file has them."""

# Frameworks that launch the kernels of the newest transformer libraries.
_NEMO: Final = ("nemo", "nemo-2025", "nemo-2026")
_MLPERF: Final = ("mlperf", "mlperf-2023")
_NEW: Final = ("megatron", *_NEMO, *_MLPERF)
_ALL: Final = (
    *_NEW,
    "deepspeed",
    "megatron-2022",
    "megatron-2021",
    "megatron-deepspeed",
    "bigscience",
    "fsdp",
    "internevo",
    "jax",
    "ddp",
)
# Microseconds of the host for a kernel, of frameworks that launch each from Python.
_EAGER: Final = {
    "megatron-deepspeed": 60.0,
    "bigscience": 60.0,
    "deepspeed": 60.0,
    "ddp": 20.0,
    "fsdp": 20.0,
}

# The same where kernels are launched from captured graphs of layers, or by C++.
_LAUNCHED: Final = 5.0

# Memory traffic between products over that of fused kernels (apex).
_PASSES: Final = {"megatron-2022": 1.0}
# The same of frameworks that leave it to PyTorch, operation by operation.
_UNFUSED: Final = Parameter(
    table=f"{POOLS}unfused",
    key="elementwise",
    start=3.0,
    low=1.0,
    high=5.0,
    spread=0.4,
)
# Scans are written in Triton, in tiles of a chunk.
_SCAN: Final = Parameter(
    table=f"{POOLS}scan", key="scan", start=3.0, low=0.5, high=30.0, spread=0.7
)
# Hosts of one processor wait alike.
_GRACE: Final = Parameter(
    table=f"{POOLS}grace", key="host", start=0.5, low=0.2, high=1.2, spread=0.3
)
_LEAVES_IT_TO_PYTORCH: Final = ("bigscience", "internevo", "deepspeed")
# They wait: for the last micro-batch, for the weights of the next module.
_WAITS: Final = ("bigscience", "deepspeed")

# Of one chip's kinds the clock that is held for hours follows the root of their power:
# voltage is raised with it.
_WATTS: Final = {"gb200": 1200.0, "gb300": 1400.0, "b200": 1000.0, "b300": 1100.0}

SWITCHES: Final[dict[str, dict[str, float | bool]]] = {
    "frameworks.megatron": {"send_once": True},
    **{
        f"frameworks.{name}": {
            "send_once": True,
            "eight_bit_weights": True,
            "loss_in_place": True,
        }
        for name in (*_NEMO, "mlperf")
    },
    # Neither fp8_params nor cross_entropy_loss_fusion: mlcommons/training_results_v3.1,
    # NVIDIA/benchmarks/gpt3/implementations/pytorch/conf/custom.yaml.
    "frameworks.mlperf-2023": {"send_once": True},
    "frameworks.fsdp": {"portable_attention": True},
    "frameworks.deepspeed": {"portable_attention": True},
    "frameworks.bigscience": {
        "gradients_everywhere": True,
        "gradient_copy": 4,
        "memory_reserve": 1.21,
    },
    "frameworks.internevo": {
        "broadcasts": True,
        "gradient_copy": 6,
        "memory_reserve": 1.4,
    },
    # Weights of MXFP8 are gathered in 16 bits and cast behind that: Megatron-LM,
    # --reuse-grad-buf-for-mxfp8-param-ag.
    "trainers.blackwell": {"gathered_8bit": 2},
}
"""What frameworks are known to do, and what was read off their memory."""


def training_parameters() -> list[Parameter]:
    """Return everything that the fit of training moves, with its prior."""
    return [_UNFUSED, _SCAN, *_frameworks(), *_trainers(), *_general()]


def _of(
    framework: str, key: str, start: float, **rest: float | str | bool | Parameter
) -> Parameter:
    return Parameter(table=f"frameworks.{framework}", key=key, start=start, **rest)  # type: ignore[arg-type] # keywords of Parameter, each of its own type


def _frameworks() -> Iterator[Parameter]:
    for name in _ALL:
        losses = 1.5 if name in _NEW else 3.0
        if name in _LEAVES_IT_TO_PYTORCH:
            yield replace(
                _UNFUSED, table=f"frameworks.{name}", spread=0.15, pool=_UNFUSED
            )
        elif name in _NEW:  # Fused kernels move each tensor once.
            yield _of(name, "elementwise", 1.1, low=0.3, high=5.0, spread=0.1)
        else:
            passes = _PASSES.get(name, 1.2)
            yield _of(name, "elementwise", passes, low=0.3, high=5.0, spread=0.4)
        yield _of(name, "loss", losses, low=0.3, high=20.0, spread=0.5)
        yield _of(
            name, "step_overhead", 20.0, low=1.0, high=1000.0, spread=1.0, unit="ms"
        )
        if name in _WAITS:
            yield _share(name, "data_overlap", 0.05, spread=0.05)
        elif name != "megatron-2022":
            yield _share(name, "data_overlap", 0.8, spread=0.25)
        if name in _EAGER:
            yield _of(
                name,
                "host_launch",
                _EAGER[name],
                low=0.5,
                high=200.0,
                spread=0.5,
                unit="us",
            )
        elif name in _NEW and name != "mlperf":
            yield _of(
                name,
                "host_launch",
                _LAUNCHED,
                low=2.0,
                high=12.0,
                spread=0.3,
                unit="us",
            )
    for name in ("fsdp", "internevo", "jax", "nemo", *_MLPERF, "bigscience"):
        yield _share(name, "data_contention", 0.15, spread=0.15)
    for name in ("internevo", "nemo", *_MLPERF, "bigscience", "fsdp"):
        # InternEvo, configs/7B_sft.py: reduce_bucket_size.
        size = 537.0 if name == "internevo" else 200.0
        yield _of(name, "bucket", size, low=0.5, high=5000.0, spread=1.0, unit="MB")
    for name in (*_NEMO, *_MLPERF):
        yield _share(name, "tensor_overlap", 0.1, spread=0.15)
    for name in ("nemo", "nemo-2026"):
        yield _of(name, "casts_4bit", 2.0, low=0.5, high=20.0, spread=0.5)
    yield _share("megatron-2021", "gradient_overlap", 0.2, spread=0.2)
    for name in ("megatron-deepspeed", "bigscience"):
        yield _share(name, "gradient_overlap", 0.1, spread=0.1)
    yield _of(
        "bigscience",
        "hop_overhead",
        3.0,
        low=0.05,
        high=100.0,
        spread=1.0,
        unit="ms",
    )
    # Messages beside arithmetic came to Megatron-LM in 2023, with interleaving.
    for name in _NEW:
        yield _share(name, "pipeline_overlap", 0.8, spread=0.2)
    for name in (*_NEW, "fsdp", "jax"):
        yield _of(name, "casts", 1.0, low=0.05, high=6.0, spread=0.6)
    for name in ("nemo", "nemo-2026"):
        yield replace(_SCAN, table=f"frameworks.{name}", spread=0.3, pool=_SCAN)
    for name in ("megatron", *_NEMO):
        # The host waits for counts of tokens, and launches some hundred kernels.
        launch = {"nemo-2026": 0.5, "nemo-2025": 4.0}.get(name, 2.0)
        yield _of(name, "routing", 1.5, low=0.1, high=20.0, spread=0.6)
        yield _share(name, "expert_overlap", 0.2, spread=0.25)
        yield _of(
            name, "expert_launch", launch, low=0.05, high=6.0, spread=0.7, unit="ms"
        )


def _share(framework: str, key: str, start: float, *, spread: float) -> Parameter:
    return _of(framework, key, start, low=0.0, high=1.0, spread=spread, linear=True)


def _trainer(
    name: str, key: str, start: float, low: float, high: float, spread: float
) -> Parameter:
    return Parameter(
        table=f"trainers.{name}",
        key=key,
        start=start,
        low=low,
        high=high,
        spread=spread,
    )


def _trainers() -> Iterator[Parameter]:
    families = ("ampere", "hopper", "blackwell", "volta", "ada", "turing")
    for family in families:
        known = family == "ampere"
        if family != "volta":
            yield _trainer(family, "sustained", 1.0, 0.3, 1.6, 0.03 if known else 0.2)
    # 95 of 125 TFLOPS of a product; most rows are of DGX-2, whose boards have 450 W.
    yield _trainer("volta", "sustained", 0.95, 0.75, 1.12, 0.05)
    for family, attention in (("ampere", 0.6), ("hopper", 0.6), ("blackwell", 0.5)):
        yield _trainer(family, "attention_forward", attention, 0.1, 1.0, 0.3)
        yield _trainer(family, "attention_backward", 0.8 * attention, 0.1, 1.0, 0.3)
        yield _trainer(family, "attention_half_head", 32.0, 1.0, 256.0, 0.5)
        yield _trainer(family, "attention_half_length", 64.0, 1.0, 1024.0, 0.7)
    # Over kernels whose scales stand in blocks: those of whole tensors are faster.
    for family, share in (("hopper", 0.8), ("blackwell", 0.8)):
        yield _trainer(family, "sustained_8bit", share, 0.2, 3.0, 0.3)
    yield _trainer("hopper", "portable_attention", 0.6, 0.2, 1.0, 0.3)
    # Kernels of PyTorch's trainers: older ones, and with the biases of ALiBi (MPT).
    yield _trainer("ampere", "portable_attention", 0.9, 0.2, 1.2, 0.2)
    yield _trainer("blackwell", "sustained_4bit", 1.0, 0.1, 3.0, 0.4)
    for family, share in (("hopper", 0.8), ("blackwell", 0.8)):
        yield _trainer(family, "grouped", share, 0.1, 1.5, 0.3)
        yield _trainer(family, "grouped_8bit", share, 0.1, 2.0, 0.3)
    for name, watts in _WATTS.items():
        clock = sqrt(watts / _WATTS["gb200"])
        yield _trainer(name, "clock", clock, 0.6, 1.4, 0.05)
    yield _GRACE
    for name in ("gb200", "gb300"):
        yield replace(_GRACE, table=f"trainers.{name}", spread=0.1, pool=_GRACE)


# Chips with few rows: what they sustain is told by the catalog, with a range.
_CHIPS: Final = (
    ("gaudi2", "sustained", 0.8375, 0.775, 0.9),
    ("gaudi2", "sustained_8bit", 1.1625, 1.0, 1.194),
    ("mi300x", "sustained_8bit", 0.45, 0.3875, 0.5),
    ("mi325x", "sustained_8bit", 0.525, 0.4625, 0.575),
)


def _general() -> Iterator[Parameter]:
    for name, key, start, low, high in _CHIPS:
        yield replace(_trainer(name, key, start, low, high, 0.1), in_place=True)
    yield Parameter(
        table="training",
        key="unaligned",
        start=0.15,
        low=0.02,
        high=1.0,
        spread=0.4,
        in_place=True,
    )
    yield Parameter(
        table="training",
        key="straggler_spread",
        start=0.004,
        low=0.0005,
        high=0.05,
        spread=0.7,
        in_place=True,
    )
