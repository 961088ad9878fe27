"""Documents as JSON Schema, each figure marked as `planopt verify` treats it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from planopt.documents.plan import PlanDocument

if TYPE_CHECKING:
    from collections.abc import Callable

    from planopt.documents.base import Document


def marked_schema(
    kind: type[Document], mark_of: Callable[[str], str | None]
) -> dict[str, Any]:
    """JSON Schema of a document, its figures marked where it is a plan."""
    published = msgspec.json.schema(kind)
    definitions = published.pop("$defs")

    spelling: list[str] = []
    recursive: dict[str, Any] = {}

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
        """Mark a figure; what holds figures is marked through them."""
        spelt = spelt_out(node, path)
        forms = [spelt, *spelt.get("anyOf", ())]
        forms += [form["items"] for form in forms if form.get("items")]
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
