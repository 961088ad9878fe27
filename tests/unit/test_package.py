"""What `import planopt` offers."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import planopt


def test_no_module_takes_the_place_of_a_name() -> None:
    # Importing `planopt.x` binds `x` in the package: a function of that name would be
    # gone after the first import that somebody else makes.
    modules = {found.name for found in pkgutil.iter_modules(planopt.__path__)}

    assert modules.isdisjoint(planopt.__all__)


def test_every_name_is_there_and_can_be_used() -> None:
    importlib.import_module("planopt.planning.compare")

    assert planopt.__version__.count(".") == 2
    for name in set(planopt.__all__) - {"__version__"}:
        assert callable(getattr(planopt, name)), name


def test_the_page_of_the_api_has_every_function_where_it_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "api.md").read_text()
    listed = set(re.findall(r"^::: (\S+)", page, re.M))
    public = [getattr(planopt, name) for name in planopt.__all__]
    functions = [each for each in public if inspect.isfunction(each)]
    assert {f"{each.__module__}.{each.__qualname__}" for each in functions} <= listed
    for name in listed:
        assert pkgutil.resolve_name(name), name
