"""Documents as JSON Schema: what each property is, its unit, and how verify treats it.

The sentence under a field says what it is; where there is none, the one of its name in
``properties.toml``. The end of the name says the unit.
"""

import ast
import inspect
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any, get_args, get_type_hints

import msgspec

from planopt.documents.base import Document
from planopt.documents.plan import PlanDocument
from planopt.toml import read_table

COUNT = "1"
"""The unit of counts and shares."""

OF_THE_FIGURE = "of the figure"
"""The unit of values, ends of intervals and tables whose own names say it."""


_Node = dict[str, Any]
"""A part of a schema."""


class Properties(msgspec.Struct, frozen=True):
    """What names mean, the units that they end in, and what they were before."""

    descriptions: dict[str, str]
    units: dict[str, str]
    of_the_whole: tuple[str, ...]
    renamed: dict[str, str]


@cache
def properties() -> Properties:
    """Read the table of names."""
    return read_table(Path(__file__).with_name("properties.toml"), Properties)


@cache
def sentences(struct: type) -> dict[str, str]:
    """Return the sentences under the fields of a struct, by the field's name."""
    found: dict[str, str] = {}
    for each in reversed(struct.__mro__):
        if issubclass(each, msgspec.Struct) and each is not msgspec.Struct:
            (body,) = ast.parse(dedent(inspect.getsource(each))).body
            lines = body.body if isinstance(body, ast.ClassDef) else []
            for field, below in pairwise(lines):
                match field, below:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(said))),
                    ):
                        found[name] = " ".join(said.split())
    return found


def unit_of(path: str) -> str:
    """Return the unit that the last name of a path ends in, or the one of the whole."""
    around, _, name = path.replace("[]", "").rpartition(".")
    units, words = properties().units, name.split("_")
    for start in range(len(words)):
        if known := units.get("_".join(words[start:])):
            return known
    if name not in properties().of_the_whole:
        return COUNT
    of_the_whole = unit_of(around)
    return OF_THE_FIGURE if of_the_whole == COUNT else of_the_whole


def _structs(kind: type) -> dict[str, type]:
    """Return the structs that a document is made of, by their names."""
    found: dict[str, type] = {}
    parts: list[Any] = [kind]
    for part in parts:
        parts += get_args(part)
        if hasattr(part, "__struct_fields__"):
            # Two of one name are called by their modules, too.
            whole = f"{part.__module__}.{part.__name__}"
            if whole not in found:
                found[whole] = part
                found.setdefault(part.__name__, part)
                parts += get_type_hints(part).values()
    return found


def marked_schema(kind: type[Document], mark_of: Callable[[str], str | None]) -> _Node:
    """JSON Schema of a document, its figures marked where it is a plan."""
    published = msgspec.json.schema(kind)
    definitions = published.pop("$defs")
    known = properties().descriptions
    structs = _structs(kind)

    spelling: list[str] = []
    recursive: _Node = {}

    def spelt_out(node: Any, path: str) -> Any:
        """Put definitions in place of references: a mark depends on the path."""
        if isinstance(node, list):
            return [spelt_out(each, path) for each in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            name = node["$ref"].rpartition("/")[2]
            if name in spelling:
                # What holds its own kind cannot be spelt out: it keeps the reference.
                recursive.update(definitions)
                return node
            spelling.append(name)
            spelt = spelt_out(definitions[name], path)
            spelling.pop()
            return spelt
        spelt = {key: spelt_out(value, path) for key, value in node.items()}
        if "items" in node:
            spelt["items"] = spelt_out(node["items"], f"{path}[]")
        if "properties" in node:
            spelt["properties"] = {
                key: marked(value, f"{path}.{key}".lstrip("."))
                for key, value in node["properties"].items()
            }
        return spelt

    def marked(node: Any, path: str) -> Any:
        """Describe a property and mark a figure; what holds any is marked by them."""
        name = path.rpartition(".")[2]
        said = sentences(structs[spelling[-1]]).get(name) or known.get(name)
        spelt = spelt_out(node, path)
        if said is not None:
            spelt["description"] = said
        forms = [spelt, *spelt.get("anyOf", ())]
        forms += [form["items"] for form in forms if form.get("items")]
        by_name = [each for form in forms if (each := form.get("additionalProperties"))]
        kinds = [
            kind.get("type")
            for form in (*forms, *by_name)
            for kind in (form, *form.get("anyOf", ()))
        ]
        if "number" in kinds or "integer" in kinds:
            unit = unit_of(path)
            spelt["x-unit"] = OF_THE_FIGURE if by_name and unit == COUNT else unit
        holds_figures = any("properties" in form for form in forms)
        if issubclass(kind, PlanDocument) and not holds_figures:
            spelt["x-planopt"] = mark_of(path) or "informative"
        return spelt

    spelt = spelt_out(published, "")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **spelt,
        **({"$defs": recursive} if recursive else {}),
    }
