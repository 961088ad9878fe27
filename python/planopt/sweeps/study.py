"""Studies: which spaces are gone through, and how they are cut."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from planopt.catalog.open import DEFAULT_ASSUMPTIONS, catalog_digest, open_catalog
from planopt.door import written
from planopt.errors import Diagnostic, InputError
from planopt.files import read, unreadable
from planopt.sweeps.spaces import Space, read_space, read_toml, space_of_tables

CHUNK = 150_000_000
"""Candidates of a chunk: a second and more of one core, so that handing them out and
writing what comes back takes no time beside it."""

_NAMES = Annotated[tuple[str, ...], Meta(min_length=1)]
_TABLES = Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]


class Axes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The table ``[study]``: what is varied, the slowest first, and how it is cut."""

    models: Annotated[tuple[str | None, ...], Meta(min_length=1)] = (None,)
    hardware: _TABLES = ({},)
    workloads: _TABLES = ({},)
    prices: _TABLES = ({},)
    assumptions: _NAMES = (DEFAULT_ASSUMPTIONS,)
    chunk: Annotated[int, Meta(ge=1, le=2**62)] = CHUNK


@dataclass(frozen=True)
class Case:
    """One space under one set of assumptions."""

    index: int  # Its number in the study
    values: dict[str, Any]  # Value of each axis of the study
    request: dict[str, Any]  # The space, as the core reads it
    assumptions: str  # Assumptions by name or file
    candidates: int  # Candidates of the space
    # Of the catalog and the assumptions, which are the same on every worker.
    digest: str


@dataclass(frozen=True)
class Chunk:
    """Candidates of a case that are evaluated together."""

    index: int  # Its number in the study
    case: Case  # What they are candidates of
    # Their places.
    start: int
    end: int


@dataclass(frozen=True)
class Study:
    """Cases and how they are cut."""

    about: str  # What is asked
    kind: str  # ``training`` or ``serving``
    cases: tuple[Case, ...]  # Every value of every axis with every one of all others
    chunk: int  # Candidates of a chunk
    catalog: tuple[str, ...]  # Overlay folders

    @property
    def candidates(self) -> int:
        """Candidates of all cases."""
        return sum(case.candidates for case in self.cases)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the same chunks in the same order, whenever it is asked."""
        numbers = itertools.count()
        for case in self.cases:
            for start in range(0, case.candidates, self.chunk):
                end = min(start + self.chunk, case.candidates)
                yield Chunk(next(numbers), case, start, end)

    def fingerprint(self) -> str:
        """Tell apart studies whose parts must not be mixed."""
        told = [self.kind, self.chunk, self.catalog]
        told += [
            [case.request, case.assumptions, case.candidates, case.digest]
            for case in self.cases
        ]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def read_study(path: str, *, catalog: Sequence[str] = ()) -> Study:
    """Read a study from a file."""
    with unreadable("the study", "a TOML file", field="STUDY", value=path):
        text = read(path).decode("utf-8")
    tables = read_toml(path, text)
    problems: list[Diagnostic] = []
    with _told(problems):
        space = _space(path, tables)
    with _told(problems):
        axes = _axes(path, tables.get("study", {}))
    if problems:
        raise InputError(problems)
    return Study(
        about=str(tables.get("about", space.about)),
        kind=space.kind,
        cases=_cases(space, axes, tuple(catalog)),
        chunk=axes.chunk,
        catalog=tuple(catalog),
    )


@contextmanager
def _told(problems: list[Diagnostic]) -> Iterator[None]:
    """Remember what is wrong, each problem once, and go on."""
    try:
        yield
    except InputError as error:
        problems += [each for each in error.diagnostics if each not in problems]


def _axes(path: str, table: object) -> Axes:
    """Read the table of the study."""
    given = table if isinstance(table, dict) else {}
    problems = [
        Diagnostic(
            code="E103",
            message=f"nothing reads `study.{key}`",
            field=f"study.{key}",
            value=key,
            accepted=", ".join(Axes.__struct_fields__),
            file=path,
        )
        for key in sorted(given.keys() - set(Axes.__struct_fields__))
    ]
    known = {key: given[key] for key in Axes.__struct_fields__ if key in given}
    parts: list[object] = [{key: value} for key, value in known.items()]
    for part in parts or [table]:
        try:
            msgspec.convert(part, Axes)
        except msgspec.ValidationError as error:  # noqa: PERF203 - each is told
            problems.append(_unreadable(path, str(error)))
    if problems:
        raise InputError(problems)
    return msgspec.convert(table, Axes)


def _unreadable(path: str, error: str) -> Diagnostic:
    what, _, place = error.partition(" - at `$")
    field = f"study{place.rstrip('`')}"
    return Diagnostic(
        code="E104",
        message=f"`{field}` cannot be read: {what[:1].lower()}{what[1:]}",
        field=field,
        accepted="lists of names (models, assumptions) or of tables (hardware, "
        "workloads, prices), and a chunk of 1 candidate or more",
        file=path,
    )


def _space(path: str, tables: Mapping[str, Any]) -> Space:
    given = tables.get("space")
    if isinstance(given, str):
        return read_space(given)
    if isinstance(given, dict):
        return space_of_tables(path, given)
    raise InputError.of(
        "E102",
        "a study needs a space",
        field="space",
        value="nothing",
        accepted="the name of a space, or a table [space]",
    )


def _cases(space: Space, axes: Axes, catalog: tuple[str, ...]) -> tuple[Case, ...]:
    # Before anything is read of it: what changes afterwards is found by the workers.
    digests: dict[str, str] = {}
    problems: list[Diagnostic] = []
    for name in axes.assumptions:
        with _told(problems):
            digests[name] = catalog_digest(catalog, name)
    cases: list[Case] = []
    *varied, _ = msgspec.structs.astuple(axes)
    every = itertools.product(*varied)
    for index, (model, hardware, workload, prices, assumptions) in enumerate(every):
        request = _request(space, model, {**hardware, **prices}, workload)
        named = model or request.get("model") or request["run"]["model"]["name"]
        values = {"model": str(named), "assumptions": assumptions}
        for table in (hardware, workload, prices):
            for name, value in table.items():
                values[name] = json.dumps(value) if isinstance(value, list) else value
        with _told(problems):
            native = open_catalog(catalog, assumptions).native
            count = native.space_count(written(request))
            digest = digests[assumptions]
            cases.append(Case(index, values, request, assumptions, count, digest))
    if problems:
        raise InputError(problems)
    return tuple(cases)


def _request(
    space: Space, model: str | None, parts: dict[str, Any], workload: dict[str, Any]
) -> dict[str, Any]:
    """Put the values of a case in the place of the space's own."""
    axes = {**space.axes, **parts}
    named = {} if model is None else {"model": model}
    if space.kind == "training":
        axes["run"] = {**axes["run"], **named, **workload}
    else:
        axes |= {**named, **workload}
    return Space(space.name, space.kind, space.about, axes).request
