"""Writes docs/reference/plan.md: every property of the published documents, once.

``make schema`` writes it; tests/unit/test_schema.py compares it with the schemas.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from planopt.documents.evaluation import EvaluationDocument
from planopt.documents.fleet import FleetPlan
from planopt.documents.plan import Plan, TrainingPlan
from planopt.documents.schema import properties
from planopt.documents.training import TrainingDocument
from planopt.second_opinion import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "plan.md"
KINDS = (Plan, TrainingPlan, FleetPlan, EvaluationDocument, TrainingDocument)

Node = dict[str, Any]


def forms(node: Node) -> Iterator[Node]:
    """A property as what it may be: itself, alternatives, items of lists and tables."""
    yield node
    of_all = node.get("items"), node.get("additionalProperties")
    for each in (*node.get("anyOf", ()), *of_all):
        if isinstance(each, dict):
            yield from forms(each)


def walk(node: Node) -> Iterator[tuple[str, str, Node]]:
    """Every property with the name of its struct, and its own name."""
    for form in forms(node):
        for name, value in form.get("properties", {}).items():
            yield form["title"], name, value
            yield from walk(value)


def page() -> str:
    """Lay out the page: a table for each struct, in the order they are first met."""
    rows: dict[str, dict[str, list[Node]]] = {}
    for kind in KINDS:
        for title, name, node in walk(schema(kind)):
            rows.setdefault(title, {}).setdefault(name, []).append(node)
    parts = [
        "# Documents",
        "",
        "<!-- Made of the documents by `make schema`. -->",
        "",
        "Every property of plans and evaluations (`--json`). As JSON Schema, "
        "`planopt.second_opinion.schema()` has them with `description`, `x-unit` and, "
        "in plans, `x-planopt`: `planopt verify` computes what is `verified` again, "
        "holds what is `checked` against the rest, and takes what is `informative` as "
        "a remark. Marks of a property that stands in several places are all named.",
    ]
    for title, of_struct in rows.items():
        parts += ["", f"## {title}", "", *_HEAD]
        parts += [_row(name, nodes) for name, nodes in of_struct.items()]
    renamed = properties().renamed.items()
    parts += ["", "## Names of 0.1", "", "| then | now |", "|---|---|"]
    parts += [f'| `"{old}"` | `"{new}"` |' for old, new in renamed]
    return "\n".join(parts) + "\n"


_HEAD = ("| property | type | unit | mark | what it is |", "|---|---|---|---|---|")


def _row(name: str, nodes: list[Node]) -> str:
    marks = sorted({mark for node in nodes if (mark := node.get("x-planopt"))})
    cells = (
        f"`{name}`",
        _type(nodes[0]),
        nodes[0].get("x-unit", ""),
        ", ".join(marks),
        nodes[0].get("description", "").replace("|", "\\|"),
    )
    return f"| {' | '.join(cells)} |"


def _type(node: Node) -> str:
    if "anyOf" in node:
        return " or ".join(_type(each) for each in node["anyOf"])
    if "enum" in node:
        return ", ".join(f'`"{each}"`' for each in node["enum"])
    if "properties" in node:
        return f"[{node['title']}](#{node['title'].lower()})"
    if node.get("type") == "array":
        items = node.get("items") or {}
        return f"list of {_type(items)}" if items else "list"
    return str(node.get("type", "any"))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
