"""Scenarios of the article, read from TOML: what a figure is worked out from."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from planopt._native import parse_quantity
from planopt.catalog.entries import Model
from planopt.catalog.open import bundled_folder, open_catalog
from planopt.documents.evaluation import EvaluationDocument
from planopt.documents.training import TrainingDocument
from planopt.planning.evaluate import evaluate_serving
from planopt.toml import tomllib
from planopt.training.evaluate import evaluate_training


class Scenario(Struct, frozen=True, kw_only=True):
    """How one figure comes about."""

    figure: str
    """Field of an evaluation, as ``decode.tpot_seconds``, or name of a function."""
    serving: Mapping[str, Any] = {}
    """Arguments of `planopt.evaluate`, those of the named setup included."""
    training: Mapping[str, Any] = {}
    """The same of `planopt.evaluate_training`."""
    inputs: Mapping[str, Any] = {}
    """Other inputs of the function, such as the article's own rounded ones."""
    note: str = ""
    chained: Scenario | None = None
    """The same figure from unrounded figures of ours, where the inputs are rounded."""

    def replace(self, **arguments: Any) -> Scenario:
        """Copy the scenario with other arguments of its evaluation."""
        kind = "training" if self.training else "serving"
        changed = {**getattr(self, kind), **arguments}
        return msgspec.structs.replace(self, **{kind: changed})


def read_scenarios() -> dict[str, Scenario]:
    """Read the scenarios of all topics, by the id of their row."""
    scenarios: dict[str, Scenario] = {}
    folder = bundled_folder() / "article" / "scenarios"
    for file in sorted(folder.glob("*.toml")):
        document = tomllib.loads(file.read_text(encoding="utf-8"))
        training = document.get("training", {})
        setups = {"serving": document.get("setups", {}), "training": training}
        for id_, table in document["rows"].items():
            if id_ in scenarios:
                raise ValueError(f"{file.name}: there is another scenario for `{id_}`")
            scenarios[id_] = _scenario(table, setups)
    return scenarios


def _scenario(
    table: Mapping[str, Any], setups: Mapping[str, Mapping[str, Any]]
) -> Scenario:
    rest = dict(table)
    setup = rest.pop("setup", None)
    if setup is not None and not any(setup in named for named in setups.values()):
        raise ValueError(f"there is no setup `{setup}`")
    chained = rest.pop("chained", None)
    return Scenario(
        figure=rest.pop("figure"),
        serving={**setups["serving"].get(setup, {}), **rest.pop("serving", {})},
        training={**setups["training"].get(setup, {}), **rest.pop("training", {})},
        note=rest.pop("note", ""),
        chained=_scenario(chained, setups) if chained else None,
        inputs=rest,
    )


ASSUMPTIONS = "article"

Known = TypeVar("Known")


class UnknownFigureError(Exception):
    """A figure does not exist for these inputs, and why."""


def known(value: Known | None, what: str) -> Known:
    """Insist on something that an evaluation may lack."""
    if value is None:
        raise UnknownFigureError(f"{what} is not known")
    return value


def _insist_on_a_layout(evaluation: EvaluationDocument | TrainingDocument) -> None:
    """Refuse what cannot even be laid out; what does not fit has figures."""
    if evaluation.memory is None:
        reasons = (rejection.message for rejection in evaluation.rejections)
        raise UnknownFigureError("; ".join(reasons))


class Inputs:
    """The inputs of one scenario."""

    def __init__(self, scenario: Scenario, catalog: Sequence[str] = ()) -> None:
        self._scenario = scenario
        self._overlays = catalog
        self._catalog = open_catalog(catalog, ASSUMPTIONS)

    def __contains__(self, name: str) -> bool:
        return name in self._scenario.inputs

    def evaluate(self, **changes: int) -> EvaluationDocument:
        """Evaluate the scenario's configuration, with some arguments changed."""
        return evaluate_serving(
            **{**self._scenario.serving, **changes},
            assumptions=ASSUMPTIONS,
            catalog=self._overlays,
        )

    @cached_property
    def evaluation(self) -> EvaluationDocument:
        """The configuration served, at the largest batch where it has a target."""
        evaluation = self.evaluate(batch=self.batch)
        _insist_on_a_layout(evaluation)
        return evaluation

    @cached_property
    def training(self) -> TrainingDocument:
        """The configuration trained, whether or not it fits."""
        evaluation = evaluate_training(
            **self._scenario.training, assumptions=ASSUMPTIONS, catalog=self._overlays
        )
        _insist_on_a_layout(evaluation)
        return evaluation

    @property
    def evaluated(self) -> EvaluationDocument | TrainingDocument:
        """Whichever of the two the scenario asks for."""
        return self.training if self._scenario.training else self.evaluation

    def figure(self, path: str, what: str) -> float:
        """Read a figure of the evaluation, which has to be known."""
        return float(known(attrgetter(path)(self.evaluated), what))

    @cached_property
    def parts(self) -> tuple[tuple[str, Inputs], ...]:
        """Figures of other rows that this one is made of, with their inputs."""
        scenarios = read_scenarios()
        others = (scenarios[id_] for id_ in self._scenario.inputs["of"])
        return tuple((each.figure, Inputs(each, self._overlays)) for each in others)

    @cached_property
    def batch(self) -> int:
        """Sequences of a micro-batch: those given, else as many as keep the target."""
        if "target" in self:
            return self._largest_batch(self.quantity("target", "tokens_per_second"))
        return int(self._scenario.serving.get("batch", 1))

    def _largest_batch(self, target: float) -> int:
        def too_slow(batch: int) -> bool:
            decode = self.evaluate(batch=batch).decode
            speed = known(decode.tokens_per_second_per_user, "the speed")
            return speed < target

        fits, beyond = 0, 1
        while not too_slow(beyond):
            fits, beyond = beyond, 2 * beyond
        if fits == 0:
            raise UnknownFigureError("not even one sequence keeps the target")
        between = range(fits + 1, beyond)
        return fits + bisect_left(between, x=True, key=too_slow)

    def text(self, name: str) -> str:
        """Read an input that is a name."""
        return str(self._scenario.inputs[name])

    def quantity(self, name: str, dimension: str) -> float:
        """Read an input with its unit, in SI units."""
        return parse_quantity(self.text(name), dimension)

    def given(self, name: str, dimension: str) -> float | None:
        """Read the same where there is one."""
        return self.quantity(name, dimension) if name in self else None

    def number(self, name: str, default: float = 0.0) -> float:
        """Read an input without a unit."""
        return float(self._scenario.inputs.get(name, default))

    def cost_assumption(self, name: str) -> float:
        """Read the assumptions' value of money over time."""
        return float(getattr(self._catalog.cost, name))

    def entity_figure(self, kind: str, id_: str, field: str, dimension: str) -> float:
        """Read a figure of a catalog entry, in SI units."""
        text = self._catalog.text(kind, id_, field)
        if text is None:
            raise UnknownFigureError(f"{id_} has no {field}")
        return parse_quantity(text, dimension)

    @cached_property
    def model(self) -> Model:
        """The scenario's model with its operations."""
        asked = self._scenario.training or self._scenario.serving
        return self._catalog.model(asked["model"], asked.get("kv_heads"))

    def sum_of_operations(self, field: str) -> float:
        """Add a figure up over all operations of the model."""
        operations = self.model.operations
        return float(sum(each.count * getattr(each, field) for each in operations))
