"""A measured replica, asked of the core: steps, prompts, and a simulated load."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from planopt.catalog.open import bundled_folder, open_catalog
from planopt.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.catalog.open import Catalog

_ENGINE_TABLE: Final = re.compile(r"^\[engines\.([\w-]+)\]", re.MULTILINE)


class Weights(NamedTuple):
    """How the weights of a checkpoint are stored."""

    format: str | None = None
    """Our format."""
    bits: float | None = None
    """Bits of a quantised weight, where they are not those of the format."""
    head_bits: float | None = None
    """Bits of a weight of the head, where it is quantised."""


class UnpredictableError(Exception):
    """A row that planopt has no answer to, with the reason."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Lengths of the prompts and answers of a load."""

    prompt: int
    output: int
    prompts: Mapping[str, Any]
    outputs: Mapping[str, Any]
    prefix_hit_rate: float = 0.0
    """Share of a prompt that is cached when it arrives."""

    @classmethod
    def between(
        cls,
        prompt: int,
        output: int,
        prompts: tuple[int, int],
        outputs: tuple[int, int],
        *,
        prefix_hit_rate: float = 0.0,
    ) -> Sizes:
        """Draw both evenly between a least and a most."""
        return cls(
            prompt=prompt,
            output=output,
            prompts=_uniform(*prompts),
            outputs=_uniform(*outputs),
            prefix_hit_rate=prefix_hit_rate,
        )

    @classmethod
    def of_people(cls, prompt: int, output: int) -> Sizes:
        """Spread about their means as widely as what people ask and are told."""
        return cls(
            prompt=prompt,
            output=output,
            prompts={"kind": "lognormal", "mean": prompt, "cv": 1.0},
            outputs={"kind": "lognormal", "mean": output, "cv": 1.0},
        )


def _uniform(least: int, most: int) -> dict[str, Any]:
    if least == most:
        return {"kind": "fixed", "tokens": most}
    return {"kind": "uniform", "least": least, "most": most}


@lru_cache(maxsize=4)
def catalog_of(assumptions: str) -> Catalog:
    """Return the opened catalog of some assumptions."""
    return open_catalog((), assumptions)


@lru_cache(maxsize=4)
def known_models(assumptions: str) -> frozenset[str]:
    """Return the ids of the catalog's models."""
    return frozenset(entry.id for entry in catalog_of(assumptions).list("models"))


@dataclass(frozen=True, kw_only=True)
class MeasuredReplica:
    """What was measured: a model in formats on accelerators, under an engine."""

    assumptions: str
    model: str
    accelerator: str
    engine: str | None
    weights: Weights = field(default_factory=Weights)
    kv: str | None = None
    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1
    network: str | None = None
    usable_fraction: float | None = None
    """Share of the memory that the engine plans with, where that is known."""

    @property
    def layout(self) -> str:
        """The layout in short."""
        degrees = {"TP": self.tp, "PP": self.pp, "DP": self.dp, "EP": self.ep}
        return " ".join(f"{name}{degree}" for name, degree in degrees.items())

    @cached_property
    def _engines(self) -> frozenset[str]:
        return _engines_of(self.assumptions)

    def request(self, *, batch: int, prompt: int, context: int) -> dict[str, Any]:
        """Return the question to the core."""
        request: dict[str, Any] = {
            "model": self.model,
            "accelerator": self.accelerator,
            "weights": self.weights.format,
            "weight_bits": self.weights.bits,
            "head_bits": self.weights.head_bits,
            "kv": self.kv,
            "tp": self.tp,
            "pp": self.pp,
            "replicas": 1,
            "batch": max(batch, 1),
            "in_flight": 1 if self.pp > 1 and batch == 1 else None,
            "prompt": max(prompt, 1),
            "context": max(context, 1),
            "network": self.network,
            "usable_fraction": self.usable_fraction,
        }
        if self.dp > 1 or self.ep > 1:
            request |= {"dp": self.dp, "ep": self.ep}
        if self.engine in self._engines:
            request["engine"] = self.engine
        return request

    def evaluated(self, *, batch: int, prompt: int, context: int) -> Mapping[str, Any]:
        """Return the evaluation of a batch."""
        request = self.request(batch=batch, prompt=prompt, context=context)
        try:
            answer: Mapping[str, Any] = catalog_of(self.assumptions).ask(
                "evaluate_serving", request
            )
        except InputError as error:
            raise UnpredictableError(error.diagnostics[0].message) from error
        if answer.get("decode") is None:
            reasons = ", ".join(each["code"] for each in answer["rejections"])
            raise UnpredictableError(f"not a layout of the model: {reasons}")
        return answer

    def step_seconds(self, *, batch: int, context: int) -> float:
        """Return the seconds of a step that gives every sequence a token."""
        decode = self.evaluated(batch=batch, prompt=1, context=context)["decode"]
        return float(decode["step_seconds"])

    def prompt_seconds(self, *, prompt: int) -> float:
        """Return the seconds to read a prompt alone."""
        answer = self.evaluated(batch=1, prompt=prompt, context=prompt)
        return float(answer["prefill"]["seconds"])

    def memory_bytes(self, *, batch: int, context: int) -> float:
        """Return the bytes of the fullest accelerator."""
        answer = self.evaluated(batch=batch, prompt=1, context=context)
        return float(answer["memory"]["total_bytes"])

    def cached_tokens(self, *, context: int) -> int:
        """Return the tokens that its KV cache holds."""
        answer = self.evaluated(batch=1, prompt=1, context=context)
        return int(answer["kv_capacity_tokens"])

    def simulated(
        self,
        arrivals: Mapping[str, Any],
        *,
        sizes: Sizes,
        requests: int,
        warm_up: int = 0,
        engine: Mapping[str, Any] | None = None,
        decode: Mapping[str, Any] | None = None,
        replicas: int = 1,
    ) -> Mapping[str, Any]:
        """Return the latencies and rates of a load."""
        prompt, context = sizes.prompt, sizes.prompt + sizes.output
        request = self.request(batch=1, prompt=prompt, context=context)
        request |= {
            "replicas": replicas,
            "load": {
                "arrivals": dict(arrivals),
                "sizes": {
                    "kind": "independent",
                    "prompt": dict(sizes.prompts),
                    "output": dict(sizes.outputs),
                },
                "prefix_hit_rate": sizes.prefix_hit_rate,
            },
            "scheduler": dict(engine or {}),
            "run": {"requests": requests, "warm_up": warm_up, "doors_close": True},
        }
        if decode is not None:
            request["decode"] = dict(decode)
        try:
            answer = catalog_of(self.assumptions).ask("simulate_serving", request)
        except InputError as error:
            raise UnpredictableError(error.diagnostics[0].message) from error
        if answer["report"] is None:
            reasons = ", ".join(each["code"] for each in answer["rejections"])
            raise UnpredictableError(f"not a layout of the model: {reasons}")
        report: Mapping[str, Any] = answer["report"]
        return report


@lru_cache(maxsize=4)
def _engines_of(assumptions: str) -> frozenset[str]:
    """Return the engines that an assumptions file says anything of."""
    path = Path(assumptions)
    if not path.is_file():
        path = bundled_folder() / "assumptions" / f"{assumptions}.toml"
    return frozenset(_ENGINE_TABLE.findall(path.read_text(encoding="utf-8")))
