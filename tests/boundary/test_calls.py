"""How often Python asks the core: a handle keeps what it found."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import planopt
from planopt import _native
from planopt.catalog.open import Catalog, open_catalog

if TYPE_CHECKING:
    import pytest

MOST_CALLS = 16
"""Of the main command; 74 before the core kept what it found, 12 before plans carried
their facts and said what was not considered, 19 before they told the price at another
confidence, which is a question of its own, 37 before the core told how far it is, 39
before they told what the network is worth: two questions more. 48 before names, models
and errors were asked for once, which prices do not change, 42 before the assumptions
were read with all else that a plan was made from, 40 before a search told what is
offered of it and what was settled came laid out, 30 before how slow steps may be was
one question, and what a plan was made from one, 23 before all that lies nearby was
read, searched for and laid out at once."""
KEPT = (_native.Catalog, _native.Found, _native.Rows)


class Watched:
    """An object of the core whose methods are counted."""

    def __init__(self, of: object, calls: Counter[str]) -> None:
        self.of, self.calls = of, calls

    def __len__(self) -> int:
        return len(self.of)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        there = getattr(self.of, name)
        if not callable(there):
            return watched(there, self.calls)
        return counted(f"{type(self.of).__name__}.{name}", there, self.calls)


def counted(name: str, function: Any, calls: Counter[str]) -> Any:
    def call(*given: object) -> Any:
        calls[name] += 1
        return watched(function(*map(plain, given)), calls)

    return call


def watched(value: Any, calls: Counter[str]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(watched(each, calls) for each in value)
    return Watched(value, calls) if isinstance(value, KEPT) else value


def plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value.of if isinstance(value, Watched) else value


def test_the_main_command_asks_the_core_a_few_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: Counter[str] = Counter()
    catalogs = Watched(_native.Catalog, calls)
    monkeypatch.setattr("planopt.catalog.open.NativeCatalog", catalogs)
    monkeypatch.setattr("planopt.catalog.open._opened", Catalog)
    function = counted("lay_out", _native.lay_out, calls)
    monkeypatch.setattr("planopt.serving.build.native_lay_out", function)
    plan = planopt.solve(target="5tok/s", budget="20000")
    assert plan.status == "optimal"
    assert plan.alternatives
    assert {
        "type.load",
        "Catalog.read_questions",
        "Catalog.search",
        "Catalog.settle",
        "lay_out",
    } <= calls.keys()
    assert calls.total() <= MOST_CALLS, calls


def test_the_counter_counts() -> None:
    calls: Counter[str] = Counter()
    catalog = watched(open_catalog().native, calls)
    assert len(catalog.list("models")) > 1
    catalog.workload("chat")
    assert calls == {"Catalog.list": 1, "Catalog.workload": 1}
