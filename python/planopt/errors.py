"""What goes wrong, as data: a code, a place, the value, what is accepted, the fix.

"No plan exists" is not an error: it is a plan whose status is ``infeasible``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from planopt.printable import printable

if TYPE_CHECKING:
    from typing_extensions import Self


MOST_TOLD = 100  # Problems that are printed of one input; all are in ``diagnostics``
WIDEST = 160  # Characters of a line of a file that are shown


@dataclass(frozen=True, kw_only=True)
class Diagnostic:
    """One problem of an input, as ``rust/planopt-core/src/diagnostic/mod.rs`` has it.

    Parameters
    ----------
    code : str
        Code that ``planopt explain`` knows, such as ``E105``.
    message : str
        What is wrong, in one sentence without a full stop.
    file : str, optional
        The file, where there is one.
    line, column : int, optional
        Where in the file, both counted from 1; columns in characters.
    field : str, optional
        The field of the file, or the option (``--target``).
    value : str, optional
        The value found, as it was written.
    accepted : str, optional
        What would be accepted.
    help : str, optional
        What to do.
    severity : {"error", "warning"}
        A warning does not keep the command from its answer.
    """

    code: str
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    field: str | None = None
    value: str | None = None
    accepted: str | None = None
    help: str | None = None
    severity: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        """Lay it out as rustc does: headline, place, source line, notes."""
        return "\n".join(
            [self.headline, *map(printable, (*self._place(), *self._notes()))]
        )

    @property
    def headline(self) -> str:
        """The first line: severity, code and message."""
        return printable(f"{self.severity}[{self.code}]: {self.message}")

    def _place(self) -> list[str]:
        if self.file is None:
            given = " ".join(part for part in (self.field, self.value) if part)
            return [f"  --> {given}"] if given else []
        if self.line is None:
            return [f"  --> {self.file}"]
        column = self.column or 1
        arrow = f"  --> {self.file}:{self.line}:{column}"
        source = _line_of(self.file, self.line)
        if source is None:
            return [arrow]
        source, column = _around(source, column)
        number = str(self.line)
        margin = " " * len(number)
        rest = source[column - 1 :]
        before = " " * len(printable(source[: column - 1]))
        carets = "^" * len(printable(rest[: self._width_in(rest)]) or "^")
        return [
            arrow,
            f" {margin} |",
            f" {number} | {source}",
            f" {margin} | {before}{carets}",
        ]

    def _width_in(self, rest: str) -> int:
        """Characters to underline: the value where it is found as written, or one."""
        for written in (f'"{self.value}"', self.value):
            if written and rest.startswith(written):
                return len(written)
        return 1

    def _notes(self) -> list[str]:
        notes = []
        if self.file is not None and self.field is not None:
            found = f" is `{self.value}`" if self.value is not None else ""
            notes.append(f"  = field: `{self.field}`{found}")
        if self.accepted is not None:
            notes.append(f"  = accepted: {self.accepted}")
        if self.help is not None:
            notes.append(f"  = help: {self.help}")
        return notes


class PlanoptError(Exception):
    """Base of all errors of planopt.

    Parameters
    ----------
    diagnostics : iterable of Diagnostic
        What is wrong.
    """

    exit_code: ClassVar[int] = 70

    def __init__(self, diagnostics: Iterable[Diagnostic] = ()) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(diagnostics)
        # What pickle calls the constructor with: errors cross process borders.
        super().__init__(self.diagnostics)

    @classmethod
    def read(cls, problems: bytes) -> Self:
        """Read what the compiled core says is wrong."""
        import msgspec

        return cls(msgspec.json.decode(problems, type=list[Diagnostic]))

    @classmethod
    def of(
        cls,
        code: str,
        message: str,
        *,
        field: str | None = None,
        value: object = None,
        accepted: str | None = None,
        help: str | None = None,
        file: str | Path | None = None,
    ) -> Self:
        """Make the error of one problem; see `Diagnostic` for the parameters."""
        problem = Diagnostic(
            code=code,
            message=message,
            field=field,
            value=None if value is None else str(value),
            accepted=accepted,
            help=help,
            file=None if file is None else str(file),
        )
        return cls([problem])

    def __str__(self) -> str:
        """All problems, a blank line between them; of a great many the first."""
        told = [str(each) for each in self.diagnostics[:MOST_TOLD]]
        rest = len(self.diagnostics) - len(told)
        told += [f"and {rest} problems more"] if rest else []
        return "\n\n".join(told)


class InputError(PlanoptError):
    """The input cannot be used as it is: an option, a catalog, a model, a plan file."""

    exit_code = 2


class Infeasible(PlanoptError):
    """No plan meets the question: raised where that is asked for."""

    exit_code = 1


class InternalError(PlanoptError):
    """A fault of planopt itself."""

    exit_code = 70


def meant(name: str, known: Iterable[str], *, most: int = 1) -> str | None:
    """Offer what is most like a name that nothing has, if anything is."""
    near = get_close_matches(name, list(known), n=most)
    return (
        f"did you mean {' or '.join(f'`{each}`' for each in near)}?" if near else None
    )


@contextmanager
def needing(package: str, extra: str, **told: str) -> Iterator[None]:
    """Make of a package that is not installed an error with the extra that has it."""
    try:
        yield
    except ImportError as error:
        raise InputError.of(
            "E905",
            f"the package {package} is not installed",
            help=f"pip install 'planopt[{extra}]'",
            **told,
        ) from error


def _around(line: str, column: int) -> tuple[str, int]:
    """Cut what is shown of a long line: that part, and where in it the column is."""
    if len(line) <= WIDEST:
        return line, column
    start = max(0, column - 1 - WIDEST // 2)
    return f"...{line[start : start + WIDEST]}...", column - start + len("...")


def _line_of(file: str, number: int) -> str | None:
    """Line of a file for display; none where it cannot be read (any more)."""
    try:
        with Path(file).open("rb") as lines:
            (line,) = islice(lines, number - 1, number)
            return line.decode("utf-8").rstrip("\r\n").replace("\t", " ")
    except (OSError, ValueError):
        return None
