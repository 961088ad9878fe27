"""How figures were worked out, as a tree."""

from collections.abc import Iterable, Sequence

from planopt.documents.derivation import Derivation, Fact, Figure
from planopt.report.numbers import in_unit
from planopt.report.style import faint, head
from planopt.report.table import Block, Sentence, listed

_PAGES = "docs/reference"


def derivation(derivations: Sequence[Derivation]) -> list[Block]:
    """Draw each figure's tree, where an evaluation was asked to explain itself."""
    if not derivations:
        return []
    tree = _Tree()
    drawn = [
        block for each in derivations for block in ("", *tree.node(each, "  ", "  "))
    ]
    return [
        head(" How each figure was worked out"),
        f"  Pages are those of {_PAGES}. What is alike is counted. Numbers in [] are"
        " sources.",
        *drawn,
        "",
        head(" Sources"),
        *tree.sources(),
    ]


class _Tree:
    """Draws nodes, and numbers the sources that their facts name."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def node(self, node: Derivation, first: str, rest: str) -> list[Block]:
        """Draw a node and all below it."""
        times = f"{node.times:,} x " if node.times > 1 else ""
        inner = rest + ("|  " if node.children else "   ")
        section = faint(f"({node.page}, section {node.section})")
        blocks: list[Block] = [
            f"{first}{times}{head(_title(node))} = {_results(node.result)}",
            f"{inner}{node.formula}   {section}",
        ]
        if given := _inputs(node):
            blocks.append(Sentence(f"with {given}", inner, f"{inner}     "))
        blocks += [f"{inner}{self._fact(fact)}" for fact in node.facts]
        for place, child in enumerate(node.children):
            is_last = place == len(node.children) - 1
            below = rest + ("   " if is_last else "|  ")
            blocks += self.node(child, f"{rest}+- ", below)
        return blocks

    def sources(self) -> list[Block]:
        """List the sources by their numbers."""
        return listed(
            f"[{number}] {source}" for source, number in self._numbers.items()
        )

    def _fact(self, fact: Fact) -> str:
        if fact.source is None:
            return f"{fact.name} = {fact.text}"
        number = self._numbers.setdefault(fact.source, len(self._numbers) + 1)
        return f"{fact.name} = {fact.text}   {faint(f'[{number}]')}"


_OPERATION = "operation.name"


def _title(node: Derivation) -> str:
    """Name a figure, with the operation that it is of."""
    words = node.name.strip("_").removesuffix("_of").replace("_", " ")
    operation = node.inputs.get(_OPERATION)
    return f"{words} of {operation}" if operation else words


def _inputs(node: Derivation) -> str:
    return ", ".join(
        f"{name.rpartition('.')[2]} {_value(value)}"
        for name, value in node.inputs.items()
        if name != _OPERATION and value not in (0, False, "")
    )


def _results(figures: Iterable[Figure]) -> str:
    """Show a figure, or those of several that are not zero."""
    every = list(figures)
    shown = [figure for figure in every if figure.value or len(every) == 1]
    return ", ".join(
        f"{each.name.replace('_', ' ')} {in_unit(each.value, each.unit)}".strip()
        for each in shown
    )


def _value(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return in_unit(float(value), "")
