"""Spaces of candidates, bundled or of a file of the user, and what comes of them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.json import decode

from planopt.catalog.open import DEFAULT_ASSUMPTIONS, open_catalog
from planopt.door import question, written
from planopt.errors import InputError
from planopt.files import read
from planopt.toml import loads, tomllib

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from planopt._native import Table


SPACES = Path(__file__).parent.parent / "spaces"


@dataclass(frozen=True)
class Space:
    """Candidates of one kind, ``training`` or ``serving``: every value of each axis."""

    name: str
    kind: str
    about: str
    axes: dict[str, Any]

    @property
    def request(self) -> dict[str, Any]:
        """As the core reads it."""
        request = {"kind": self.kind, **self.axes}
        if self.kind == "training":
            request["run"] = question("evaluate_training", self.axes["run"])
        return request


def read_space(name: str) -> Space:
    """Read a space by its name, or from a file ``NAME.toml``."""
    path = Path(name) if name.endswith(".toml") else SPACES / f"{name}.toml"
    try:
        text = read(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError.of(
            "E006",
            f"cannot read the space: {error}",
            field="--space",
            value=name,
            accepted="a TOML file in UTF-8",
        ) from error
    except OSError as error:
        known = sorted(each.stem for each in SPACES.glob("*.toml"))
        nearest = difflib.get_close_matches(name, known, n=1)
        raise InputError.of(
            "E006",
            f"there is no space `{name}`",
            field="--space",
            value=name,
            accepted=", ".join(known) + ", or a file NAME.toml",
            help=f"did you mean `{nearest[0]}`?" if nearest else None,
        ) from error
    return space_of_tables(name, read_toml(name, text))


def space_of_tables(name: str, tables: dict[str, Any]) -> Space:
    """Make a space of the tables of its file."""
    tables = dict(tables)
    kind = tables.pop("kind", None)
    if kind not in ("training", "serving"):
        raise InputError.of(
            "E104",
            "a space is of one kind of candidates",
            field="kind",
            value=str(kind),
            accepted="training, serving",
        )
    if kind == "training" and not isinstance(tables.get("run"), dict):
        raise InputError.of(
            "E102",
            "a space of training needs a run",
            field="run",
            value=str(tables.get("run", "nothing")),
            accepted="a table [run], or [space.run] in a study",
        )
    return Space(name, kind, str(tables.pop("about", name)), tables)


def read_toml(name: str, text: str) -> dict[str, Any]:
    """Read the text of a file."""
    try:
        return loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError.of(
            "E101",
            f"not TOML: {error}",
            field="space",
            value=name,
            accepted="a TOML file, as those in benchmarks/spaces",
        ) from error


class _Front(Struct, frozen=True):
    rows: list[dict[str, object]]


def front(
    space: str,
    *,
    exhaustive: bool = False,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
    progress: Callable[[int, int], object] | None = None,
) -> list[dict[str, object]]:
    """Find the front of a space, the cheapest first: place, what it is, all figures."""
    request = written(read_space(space).request)
    native = open_catalog(catalog, assumptions).native
    found = native.front(request, written({"exhaustive": exhaustive}), progress)
    return decode(found, type=_Front).rows


def figures(
    space: str,
    start: int = 0,
    end: int | None = None,
    *,
    assumptions: str = DEFAULT_ASSUMPTIONS,
    catalog: Sequence[str] = (),
) -> Table:
    """Every figure of candidates that work, as columns that nobody has to copy.

    ``pyarrow.table(figures(...))``, ``polars.from_arrow`` and all others that speak the
    Arrow PyCapsule protocol take the table as it is; ``numpy.asarray`` takes a column.
    """
    request = written(read_space(space).request)
    native = open_catalog(catalog, assumptions).native
    count = native.space_count(request)
    last = count if end is None else end
    if not 0 <= start <= last <= count:
        raise InputError.of(
            "E003",
            "there are no such candidates",
            field="start, end",
            value=f"{start}, {last}",
            accepted=f"0 <= start <= end <= {count}",
        )
    return native.figures(request, start, last)
