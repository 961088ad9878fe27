"""How a figure was worked out: the formulas of the reference, as they call each other.

A function that computes something is marked with the formula it stands for. While
:func:`recording` is on, each call of it becomes a node of a tree: what went in, what
came out, which facts and assumptions it read, and the formulas it used in turn. What is
printed is what was computed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["FORMULAS", "Formula", "Node", "formula", "recording", "unrecorded"]

Given = ParamSpec("Given")
Result = TypeVar("Result")
_OF_TRAINING = "planopt_reference.training."
Scalar = "int | float | str | bool"


@dataclass(frozen=True, kw_only=True)
class Formula:
    """What a marked function stands for: see :class:`Node`."""

    text: str
    page: str
    section: str
    unit: str
    reads: tuple[str, ...]


FORMULAS: dict[str, Formula] = {}
"""Every marked function, by its full name."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """One formula, worked out once.

    Parameters
    ----------
    name : str
        What it computes.
    formula : str
        As the reference page has it.
    page : str
        The page, in docs/reference.
    section : str
        Where it stands there.
    inputs : mapping of str to int, float or str
        What it was given; whole models and clusters are left out.
    reads : tuple of str
        Facts and assumptions it looks up: ``accelerator.memory_bandwidth``,
        ``compute.half_rows``.
    result : mapping of str to float
        What came out; a single figure has an empty name.
    unit : str
        Of the result; of each figure by its name where they differ.
    times : int
        How often the same was worked out with the same result.
    children : tuple of Node
        Formulas used on the way.
    """

    name: str
    formula: str
    page: str
    section: str
    inputs: Mapping[str, Any]
    reads: tuple[str, ...]
    result: Mapping[str, float]
    unit: str
    times: int = 1
    children: tuple[Node, ...] = ()

    def to_table(self) -> dict[str, Any]:
        """Give the tree as mappings and lists."""
        return {
            "name": self.name,
            "formula": self.formula,
            "page": self.page,
            "section": self.section,
            "inputs": dict(self.inputs),
            "reads": list(self.reads),
            "result": dict(self.result),
            "unit": self.unit,
            "times": self.times,
            "children": [child.to_table() for child in self.children],
        }


@dataclass
class _Recorder:
    """Calls that have begun, the innermost last, with what each has called so far."""

    open: list[list[Node]] = field(default_factory=lambda: [[]])


_recorder: ContextVar[_Recorder | None] = ContextVar("recorder", default=None)


def is_recorded() -> bool:
    """Whether each call of a formula counts, and no known result stands for it."""
    return _recorder.get() is not None


@contextmanager
def recording() -> Iterator[list[Node]]:
    """Record the formulas that are worked out inside of the block.

    Yields
    ------
    list of Node
        Those that no other formula called, filled in when the block ends.
    """
    recorder = _Recorder()
    roots: list[Node] = []
    token = _recorder.set(recorder)
    try:
        yield roots
    finally:
        _recorder.reset(token)
        roots.extend(_merged(recorder.open[0]))


@contextmanager
def unrecorded() -> Iterator[None]:
    """Leave out of a recording what is only compared."""
    token = _recorder.set(None)
    try:
        yield
    finally:
        _recorder.reset(token)


def formula(
    text: str,
    *,
    section: str,
    page: str | None = None,
    unit: str = "",
    reads: Sequence[str] = (),
) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """Mark a function as the place where a formula is worked out.

    Unless said, its page is that of its package: `training.md` or `model.md`.
    """

    def mark(function: Callable[Given, Result]) -> Callable[Given, Result]:
        signature = inspect.signature(function)
        of_training = function.__module__.startswith(_OF_TRAINING)
        marked = Formula(
            text=text,
            page=page or ("training.md" if of_training else "model.md"),
            section=section,
            unit=unit,
            reads=tuple(reads),
        )
        FORMULAS[f"{function.__module__}.{function.__name__}"] = marked

        @functools.wraps(function)
        def recorded(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            recorder = _recorder.get()
            if recorder is None:
                return function(*args, **kwargs)
            recorder.open.append([])
            try:
                result = function(*args, **kwargs)
            finally:
                children = recorder.open.pop()
            arguments = signature.bind(*args, **kwargs).arguments
            recorder.open[-1].append(
                Node(
                    name=function.__name__,
                    formula=marked.text,
                    page=marked.page,
                    section=marked.section,
                    inputs=_scalars(arguments),
                    reads=marked.reads,
                    result=_figures(result),
                    unit=marked.unit,
                    children=_merged(children),
                )
            )
            return result

        return recorded

    return mark


def _merged(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Count equal siblings instead of repeating them: layers are alike."""
    merged: dict[Any, Node] = {}
    for node in nodes:
        key = (
            node.name,
            tuple(node.inputs.items()),
            tuple(node.result.items()),
            node.children,
        )
        same = merged.get(_hashable(key))
        times = node.times + (same.times if same else 0)
        merged[_hashable(key)] = replace(node, times=times)
    return tuple(merged.values())


def _hashable(key: object) -> str:
    return repr(key)


def _scalars(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what can be shown: numbers, words, and small records of them."""
    shown: dict[str, Any] = {}
    for name, value in arguments.items():
        if isinstance(value, int | float | str):
            shown[name] = value
        elif is_dataclass(value):
            shown.update(_of_record(name, value))
    return shown


_LARGEST_RECORD = 12
"""Fields of a record that is still shown: a step or an operation, not a whole model."""


def _of_record(name: str, record: Any) -> dict[str, Any]:
    values = {each.name: getattr(record, each.name) for each in fields(record)}
    scalars = {
        key: value
        for key, value in values.items()
        if isinstance(value, int | float | str)
    }
    others = [value for value in values.values() if value is not None]
    is_small = len(values) <= _LARGEST_RECORD and len(scalars) == len(others)
    return (
        {f"{name}.{key}": value for key, value in scalars.items()} if is_small else {}
    )


def _figures(result: object) -> dict[str, float]:
    """Figures of a result: itself, or those of a record or a mapping."""
    if isinstance(result, int | float):
        return {"": float(result)}
    if is_dataclass(result):
        values = {each.name: getattr(result, each.name) for each in fields(result)}
    elif isinstance(result, Mapping):
        values = dict(result)
    elif isinstance(result, tuple | list) and len(result) == 1:
        values = {"": result[0]}
    elif isinstance(result, tuple | list):
        values = {str(place): value for place, value in enumerate(result)}
    else:
        values = {}
    figures: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, int | float):
            figures[str(name)] = float(value)
        elif isinstance(value, tuple) or is_dataclass(value):
            inner = _figures(value)
            figures |= {f"{name}.{place}": each for place, each in inner.items()}
    return figures
