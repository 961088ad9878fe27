"""What `import planopt` offers."""

from __future__ import annotations

import importlib
import pkgutil

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
