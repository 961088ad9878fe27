"""How figures were worked out, as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt.report.numbers import in_unit
from planopt.report.style import PLAIN, Style
from planopt.report.table import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from planopt.documents.derivation import Derivation, Fact, Figure

__all__ = ["derivation_lines", "render_derivation"]

_PAGES = "docs/reference"


def render_derivation(
    derivations: Sequence[Derivation], *, style: Style = PLAIN
) -> str:
    """Draw each figure's tree: formula, inputs with their source, result."""
    tree = _Tree(style)
    lines = [
        style.head(" How each figure was worked out"),
        f"  Pages are those of {_PAGES}. What is alike is counted. Numbers in [] are"
        " sources.",
    ]
    for derivation in derivations:
        lines += ["", *tree.node(derivation, "  ", "  ")]
    return "\n".join([*lines, "", style.head(" Sources"), *tree.sources()])


def derivation_lines(derivations: Sequence[Derivation], style: Style) -> list[str]:
    """Draw the trees below an evaluation, where it was asked to explain itself."""
    return ["", render_derivation(derivations, style=style)] if derivations else []


class _Tree:
    """Draws nodes, and numbers the sources that their facts name."""

    def __init__(self, style: Style) -> None:
        self._style = style
        self._numbers: dict[str, int] = {}

    def node(self, node: Derivation, first: str, rest: str) -> list[str]:
        """Draw a node and all below it."""
        style = self._style
        times = f"{node.times:,} x " if node.times > 1 else ""
        inner = rest + ("|  " if node.children else "   ")
        section = style.faint(f"({node.page}, section {node.section})")
        lines = [
            f"{first}{times}{style.head(_title(node))} = {_results(node.result)}",
            f"{inner}{node.formula}   {section}",
        ]
        if given := _inputs(node):
            lines += wrapped(f"with {given}", indent=inner, hanging=f"{inner}     ")
        lines += [f"{inner}{self._fact(fact)}" for fact in node.facts]
        for place, child in enumerate(node.children):
            is_last = place == len(node.children) - 1
            below = rest + ("   " if is_last else "|  ")
            lines += self.node(child, f"{rest}+- ", below)
        return lines

    def sources(self) -> list[str]:
        """List the sources by their numbers."""
        return [
            line
            for source, number in self._numbers.items()
            for line in wrapped(f"[{number}] {source}", hanging="    ")
        ]

    def _fact(self, fact: Fact) -> str:
        if fact.source is None:
            return f"{fact.name} = {fact.text}"
        number = self._numbers.setdefault(fact.source, len(self._numbers) + 1)
        return f"{fact.name} = {fact.text}   {self._style.faint(f'[{number}]')}"


_OPERATION = "operation.name"


def _title(node: Derivation) -> str:
    """Name a figure, with the operation that it is of."""
    words = node.name.strip("_").removesuffix("_of").replace("_", " ")
    operation = node.inputs.get(_OPERATION)
    return f"{words} of {operation}" if operation else words


def _inputs(node: Derivation) -> str:
    given = (
        (name.rpartition(".")[2], value)
        for name, value in node.inputs.items()
        if name != _OPERATION and value not in (0, False, "")
    )
    return ", ".join(f"{name} {_value(value)}" for name, value in given)


def _results(figures: Iterable[Figure]) -> str:
    """Show a figure, or those of several that are not zero."""
    every = list(figures)
    shown = [figure for figure in every if figure.value or len(every) == 1]
    return ", ".join(
        " ".join(filter(None, (figure.name.replace("_", " "), _figure(figure))))
        for figure in shown
    )


def _figure(figure: Figure) -> str:
    return in_unit(figure.value, figure.unit)


def _value(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return in_unit(float(value), "")
