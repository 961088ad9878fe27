"""How rows are read where their columns leave something open, from conventions.toml."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from planopt.toml import tomllib

__all__ = ["Conventions", "Framework", "NetworkOf", "SourceNotes", "conventions"]


class Framework(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a training framework does unless it is told otherwise."""

    id: str
    names: tuple[str, ...]
    sources: tuple[str, ...] = ("",)
    """Beginnings of the sources whose rows it is read for."""
    recompute: str
    shard: str
    gradients: str = "fp32"
    """Format that gradients are summed in; ``weights`` for that of the weights."""
    source: str


class SourceNotes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the pages of a source say of all of its rows."""

    prefix: str = ""
    framework: str | None = None
    """Id of the framework, where the row's name of it says too little."""
    flash_attention: bool = True
    dropout: bool = False
    causal: bool = True
    recompute: str | None = None
    shard: str | None = None
    loss_chunks: int = 1
    """Pieces that logits are there in, at a time."""
    model_flops: str | None = None
    """How its TFLOPS count: ``full``, ``causal``, ``hardware`` (recomputation too)."""
    network: str | None = None
    nics_per_host: int | None = None
    memory: str | None = None
    """How its memory column was read."""
    memory_counts: str = "process"
    """``process``: all that the card shows as used; ``allocated``: tensors alone."""


class NetworkOf(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The network of the usual hosts of some families of accelerators."""

    families: tuple[str, ...]
    network: str
    nics_per_host: int
    source: str


class Conventions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of conventions.toml."""

    framework: tuple[Framework, ...]
    source: tuple[SourceNotes, ...]
    network: tuple[NetworkOf, ...]

    def framework_of(self, name: str, source: str) -> Framework:
        """Return the source's framework, else the first that `name` starts with."""
        of_source = self.source_of(source).framework
        if of_source is not None:
            return next(each for each in self.framework if each.id == of_source)
        low = name.lower()
        return next(
            each
            for each in self.framework
            if source.startswith(each.sources)
            and any(low.startswith(start.lower()) for start in each.names)
        )

    def source_of(self, name: str) -> SourceNotes:
        """Return what is known of a source; defaults for one that is not known."""
        return next(
            (each for each in self.source if name.startswith(each.prefix)),
            SourceNotes(),
        )

    def network_of(self, family: str) -> NetworkOf:
        """Return the network of the usual host of a family."""
        return next(
            each
            for each in self.network
            if family in each.families or not each.families
        )


@lru_cache(maxsize=1)
def conventions() -> Conventions:
    """Read conventions.toml."""
    path = Path(__file__).with_name("conventions.toml")
    read: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    return msgspec.convert(read, Conventions)
