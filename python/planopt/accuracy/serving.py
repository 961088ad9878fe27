"""A measured replica, asked of the core: steps, prompts, and a simulated load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from planopt.catalog.open import Catalog, open_catalog
from planopt.documents.evaluation import Memory, ServingEvaluation
from planopt.documents.parts import Rejection
from planopt.errors import InputError
from planopt.loads import Latencies, Load, Run, outcome


class UnpredictableError(Exception):
    """A row that planopt has no answer to, with the reason."""

    @classmethod
    def of(cls, rejections: Iterable[Rejection]) -> UnpredictableError:
        """Say that there is no such layout, and why."""
        reasons = ", ".join(each.code for each in rejections)
        return cls(f"not a layout of the model: {reasons}")


@lru_cache(maxsize=4)
def catalog_of(assumptions: str) -> Catalog:
    """Return the opened catalog of some assumptions."""
    return open_catalog((), assumptions)


@lru_cache(maxsize=4)
def known_models(assumptions: str) -> frozenset[str]:
    """Return the ids of the catalog's models."""
    return frozenset(entry.id for entry in catalog_of(assumptions).list("models"))


@dataclass(frozen=True)
class MeasuredReplica:
    """What was measured: a model in formats on accelerators, under an engine."""

    assumptions: str
    asked: Mapping[str, object]
    """Its options, by their names in the core."""

    @property
    def layout(self) -> str:
        """The layout in short."""
        degrees = ("tp", "pp", "dp", "ep")
        return " ".join(f"{each.upper()}{self.asked.get(each, 1)}" for each in degrees)

    def request(self, *, batch: int, prompt: int, context: int) -> dict[str, object]:
        """Return the question to the core."""
        pp, dp, ep = (self.asked.get(name, 1) for name in ("pp", "dp", "ep"))
        left_out = {"dp", "ep"} if dp == ep == 1 else set()
        if self.asked.get("engine") not in engines_of(self.assumptions):
            left_out.add("engine")
        return {
            **{name: it for name, it in self.asked.items() if name not in left_out},
            "replicas": 1,
            "batch": max(batch, 1),
            "in_flight": 1 if pp != 1 and batch == 1 else None,
            "prompt": max(prompt, 1),
            "context": max(context, 1),
        }

    def evaluated(
        self, *, context: int, batch: int = 1, prompt: int = 1
    ) -> tuple[ServingEvaluation, Memory]:
        """Return the evaluation of a batch, with its memory."""
        request = self.request(batch=batch, prompt=prompt, context=context)
        catalog = catalog_of(self.assumptions)
        with _predictable():
            answer = catalog.ask("evaluate_serving", request, ServingEvaluation)
        if answer.memory is None:
            raise UnpredictableError.of(answer.rejections)
        return answer, answer.memory

    def prompt_seconds(self, *, prompt: int) -> float:
        """Return the seconds to read a prompt alone."""
        answer, _ = self.evaluated(prompt=prompt, context=prompt)
        return answer.prefill.seconds or 0.0

    def simulated(
        self,
        load: Load,
        lengths: tuple[int, int],
        *,
        requests: int,
        engine: Mapping[str, object],
        decode: Mapping[str, object] | None = None,
        replicas: int = 1,
    ) -> Latencies:
        """Return the latencies and rates of a load of prompts and answers so long."""
        request = self.request(batch=1, prompt=lengths[0], context=sum(lengths))
        # One user alone has one micro-batch; a load fills the pipeline.
        request |= {"replicas": replicas, "decode": decode, "in_flight": None}
        request["scheduler"] = engine
        run = Run(requests=requests, doors_close=True)
        catalog = catalog_of(self.assumptions)
        with _predictable():
            found = outcome(catalog, "simulate_serving", request, load, run)
        if found.report is None:
            raise UnpredictableError.of(found.rejections)
        return found.report


@contextmanager
def _predictable() -> Iterator[None]:
    """Take what the core refuses for a row that has no prediction."""
    try:
        yield
    except InputError as error:
        raise UnpredictableError(error.diagnostics[0].message) from error


@lru_cache(maxsize=4)
def engines_of(assumptions: str) -> frozenset[str]:
    """Return the engines that assumptions say anything of."""
    catalog = catalog_of(assumptions)
    (entry,) = catalog.list("assumptions")
    known = (name.split(".") for name in catalog.figures("assumptions", entry.id))
    return frozenset(name[1] for name in known if name[0] == "engines")
