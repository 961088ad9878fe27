"""What is measured on: the few kinds of work that a device must be able to do."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from planopt.machine import host_memory_bytes, processor_name

Work = Callable[[], object]
"""One piece of work, done for its time and not for its result."""


class Device(Protocol):
    """Something that multiplies, copies and attends."""

    name: str
    """As its maker calls it."""
    software: str
    """What drives it, with its version."""
    is_processor: bool
    """Whether it is the processor of the host itself."""
    memory_bytes: int
    formats: tuple[str, ...]
    """Number formats that it multiplies in."""
    count: int
    """How many of it this host has."""

    def matmul(self, rows: int, columns: int, depth: int, number_format: str) -> Work:
        """Prepare a product of ``rows x depth`` and ``depth x columns``."""

    def copy(self, size_bytes: int) -> Work:
        """Prepare a copy of so many bytes, which are read and written once each."""

    def attention(self, tokens: int, heads: int, width: int) -> Work:
        """Prepare causal attention of a prompt, in the first of ``formats``."""

    def launch(self) -> Work:
        """Prepare the smallest operation there is."""

    def all_reduce_seconds(self, size_bytes: int, repeats: int) -> float | None:
        """Time an all-reduce over all devices of the host; None for a single one."""

    def seconds(self, work: Work, repeats: int) -> float:
        """Time ``repeats`` runs of ``work``, and give the seconds of one."""


class NumpyDevice:
    """The processor of this host, through the BLAS that NumPy brings."""

    is_processor = True
    formats: tuple[str, ...] = ("fp32",)
    count = 1

    def __init__(self) -> None:
        import numpy as np

        self._np = np
        self._random = np.random.default_rng(seed=0)
        self._threads = ThreadPoolExecutor(os.cpu_count() or 1)
        self.name = processor_name()
        self.software = f"NumPy {np.__version__}"
        self.memory_bytes = host_memory_bytes()

    def matmul(self, rows: int, columns: int, depth: int, number_format: str) -> Work:  # noqa: ARG002 - it has one format only
        """Prepare a product in single precision."""
        left = self._random.random((rows, depth), dtype=self._np.float32)
        right = self._random.random((depth, columns), dtype=self._np.float32)
        product = self._np.empty((rows, columns), dtype=self._np.float32)
        return lambda: self._np.matmul(left, right, out=product)

    def copy(self, size_bytes: int) -> Work:
        """Prepare a copy, spread over all cores: one does not fill the memory bus."""
        source = self._np.ones(size_bytes // 4, dtype=self._np.float32)
        target = self._np.empty_like(source)
        cores = os.cpu_count() or 1
        parts = (self._np.array_split(each, cores) for each in (target, source))
        pairs = list(zip(*parts, strict=True))
        return lambda: list(
            self._threads.map(lambda pair: self._np.copyto(*pair), pairs)
        )

    def attention(self, tokens: int, heads: int, width: int) -> Work:
        """Prepare attention that keeps its probabilities: NumPy has no other."""
        np = self._np
        query, key, value = (
            self._random.random((heads, tokens, width), dtype=np.float32)
            for _ in range(3)
        )

        def attend() -> object:
            scores = query @ key.transpose(0, 2, 1)
            np.exp(scores - scores.max(axis=-1, keepdims=True), out=scores)
            scores /= scores.sum(axis=-1, keepdims=True)
            return scores @ value

        return attend

    def launch(self) -> Work:
        """Prepare an addition of one number."""
        one, two = (self._np.ones(1, dtype=self._np.float32) for _ in range(2))
        return lambda: self._np.add(one, one, out=two)

    def all_reduce_seconds(self, size_bytes: int, repeats: int) -> None:
        """Do nothing: there is nobody to talk to."""

    def seconds(self, work: Work, repeats: int) -> float:
        """Time the runs by the clock."""
        start = time.perf_counter()
        for _ in range(repeats):
            work()
        return (time.perf_counter() - start) / repeats
