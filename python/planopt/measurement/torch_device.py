"""Anything that PyTorch drives."""

from __future__ import annotations

import time
from typing import Any

import torch

from planopt.errors import InputError
from planopt.machine import host_memory_bytes, processor_name
from planopt.measurement.device import Work

_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}

_WARM_UP = 2
"""Runs that are not timed: kernels are chosen and compiled in the first."""


def open_torch_device(name: str | None) -> TorchDevice:
    """Open a device by PyTorch's name for it, or the best there is."""
    found = [kind for kind in ("cuda", "xpu", "mps") if _has(kind)]
    wanted = name or (found[0] if found else "cpu")
    try:
        device = torch.device(wanted)
        torch.ones(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError.of(
            "E004",
            "PyTorch has no such device here",
            field="--device",
            value=wanted,
            accepted=", ".join([*found, "cpu", "numpy"]),
        ) from error
    return TorchDevice(device)


def _has(kind: str) -> bool:
    backend: Any = torch.backends.mps if kind == "mps" else getattr(torch, kind, None)
    return backend is not None and bool(backend.is_available())


class TorchDevice:
    """One device of this host, and its peers for collectives."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.is_processor = device.type == "cpu"
        self.software = f"PyTorch {torch.__version__}"
        self.formats: tuple[str, ...] = ("bf16", "fp16", "fp32")
        self.count = 1
        if device.type == "cuda":
            properties = torch.cuda.get_device_properties(device)
            self.name = properties.name
            self.memory_bytes = properties.total_memory
            self.count = torch.cuda.device_count()
            self.software += f", CUDA {torch.version.cuda or torch.version.hip}"
        else:
            self.name = processor_name()
            self.memory_bytes = host_memory_bytes()
        if self.is_processor:
            # Half precision on a processor may be emulated, a thousand times slower.
            self.formats = ("fp32",)

    def matmul(self, rows: int, columns: int, depth: int, number_format: str) -> Work:
        """Prepare a product."""
        dtype = _DTYPES[number_format]
        left = torch.randn(rows, depth, device=self._device, dtype=dtype)
        right = torch.randn(depth, columns, device=self._device, dtype=dtype)
        product = torch.empty(rows, columns, device=self._device, dtype=dtype)
        return lambda: torch.matmul(left, right, out=product)

    def copy(self, size_bytes: int) -> Work:
        """Prepare a copy within the device's memory."""
        source = torch.ones(size_bytes // 4, device=self._device)
        target = torch.empty_like(source)
        return lambda: target.copy_(source)

    def attention(self, tokens: int, heads: int, width: int) -> Work:
        """Prepare causal attention through PyTorch's fused kernel."""
        dtype = _DTYPES[self.formats[0]]
        query, key, value = (
            torch.randn(1, heads, tokens, width, device=self._device, dtype=dtype)
            for _ in range(3)
        )
        attend = torch.nn.functional.scaled_dot_product_attention
        return lambda: attend(query, key, value, is_causal=True)

    def launch(self) -> Work:
        """Prepare an addition of one number."""
        one = torch.ones(1, device=self._device)
        return lambda: one.add_(1.0)

    def all_reduce_seconds(self, size_bytes: int, repeats: int) -> float | None:
        """Time NCCL's all-reduce, from this one process, over all CUDA devices."""
        if self._device.type != "cuda" or self.count < 2:
            return None
        from torch.cuda import nccl

        tensors = [
            torch.ones(size_bytes // 4, device=f"cuda:{index}")
            for index in range(self.count)
        ]
        return self.seconds(lambda: nccl.all_reduce(tensors), repeats)

    def seconds(self, work: Work, repeats: int) -> float:
        """Time the runs, from when the device is idle until it is idle again."""
        for _ in range(_WARM_UP):
            work()
        self._wait()
        start = time.perf_counter()
        for _ in range(repeats):
            work()
        self._wait()
        return (time.perf_counter() - start) / repeats

    def _wait(self) -> None:
        if self._device.type == "cuda":
            for index in range(self.count):
                torch.cuda.synchronize(index)
        elif self._device.type == "xpu":
            torch.xpu.synchronize(self._device)
        elif self._device.type == "mps":
            torch.mps.synchronize()
