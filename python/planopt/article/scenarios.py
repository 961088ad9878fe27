"""Scenarios: the inputs of each of the article's figures, read from TOML."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - read when a Struct is made
from typing import Any

import msgspec
from msgspec import Struct

from planopt.catalog.open import bundled_folder
from planopt.toml import tomllib


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
        if self.training:
            return msgspec.structs.replace(
                self, training={**self.training, **arguments}
            )
        return msgspec.structs.replace(self, serving={**self.serving, **arguments})


def read_scenarios() -> dict[str, Scenario]:
    """Read the scenarios of all topics, by the id of their row."""
    scenarios: dict[str, Scenario] = {}
    folder = bundled_folder() / "article" / "scenarios"
    for file in sorted(folder.glob("*.toml")):
        document = tomllib.loads(file.read_text(encoding="utf-8"))
        setups = {
            "serving": document.get("setups", {}),
            "training": document.get("training", {}),
        }
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
