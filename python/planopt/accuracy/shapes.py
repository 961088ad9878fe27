"""Models that no catalog has, by the figures of a row."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planopt.catalog.overlay import toml_value

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A model by its own figures."""

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    width: int
    vocabulary: int
    context: int
    gated: bool
    tied: bool
    norm: str
    learned_positions: bool
    biased: bool
    experts: int = 0
    active: int = 0

    @property
    def id(self) -> str:
        """Id in a catalog, the same for the same shape."""
        figures = (
            self.layers,
            self.hidden,
            self.heads,
            self.kv_heads,
            self.width,
            self.vocabulary,
            self.context,
            self.experts,
            self.active,
        )
        plain = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")
        return f"row-{plain}-" + "-".join(map(str, figures))

    def to_toml(self) -> str:
        """Write the model file of a catalog."""
        flags = {True: "true", False: "false"}
        lines = [
            f'id = "{self.id}"',
            f"name = {toml_value(self.name)}",
            f"hidden = {self.hidden}",
            f"vocabulary = {self.vocabulary}",
            f"max_context = {self.context}",
            'weights = "bf16"',
            f"tied = {flags[self.tied]}",
            f'norm = "{self.norm}"',
            f"positions = {self.context if self.learned_positions else 0}",
            f"layers = {self.layers}",
            "pattern = [0]",
            "[[block]]",
            "norms = 2",
            "[block.attention]",
            'kind = "grouped"',
            f"heads = {self.heads}",
            f"kv_heads = {self.kv_heads}",
            f"head_dim = {self.hidden // self.heads}",
            f"query_bias = {flags[self.biased]}",
            f"key_value_bias = {flags[self.biased]}",
            f"output_bias = {flags[self.biased]}",
            "[block.mlp]",
            f'kind = "{"experts" if self.experts else "dense"}"',
            f"width = {self.width}",
            f"gated = {flags[self.gated]}",
            f"bias = {flags[self.biased]}",
        ]
        if self.experts:
            lines += [f"experts = {self.experts}", f"active = {self.active}"]
        return "\n".join(lines) + "\n"


def write_models(shapes: Iterable[Shape], folder: Path) -> None:
    """Write an overlay catalog with a model for each shape."""
    models = folder / "models"
    models.mkdir(exist_ok=True)
    for shape in shapes:
        (models / f"{shape.id}.toml").write_text(shape.to_toml(), encoding="utf-8")
