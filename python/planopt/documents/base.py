"""Save, load, JSON and text of any document.

A document does not know how it is laid out: whoever gives out documents hands the
renderer in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

import msgspec
from msgspec import Struct

from planopt.errors import InputError
from planopt.files import write
from planopt.printable import printable

if TYPE_CHECKING:
    from typing_extensions import Self


def to_json(value: object) -> str:
    """Write any answer as JSON text: plans, lists of them, rows."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


@dataclass(frozen=True)
class Plot:
    """Drawings, as a notebook shows them where they are a cell's last value."""

    html: str

    def _repr_html_(self) -> str:
        return self.html


class Shown:
    """What a notebook shows."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        return _RENDERERS[0].as_html(printable(self)) if _RENDERERS else repr(self)


class Drawn(Shown):
    """What has drawings."""

    __slots__ = ()

    def plot(self) -> Plot:
        """Draw it: the drawings of the report alone, without its tables.

        Of a plan those of its page, of an evaluation its memory, times and hosts, of a
        front and of a comparison what each choice does against what it costs.

        Returns
        -------
        Plot
            A notebook shows it; ``html`` is the frame that it shows.

        Examples
        --------
        >>> import planopt
        >>> evaluation = planopt.evaluate(accelerator="rtx-4090", tp=4, pp=2)
        >>> evaluation.plot().html[:7]
        '<iframe'
        """
        return Plot(_RENDERERS[0].as_plot(printable(self)))


class Document(Shown, Struct, frozen=True, kw_only=True):
    """A document that stands alone as a JSON file."""

    _what: ClassVar[str] = "document"

    def to_json(self) -> str:
        """Write the document as JSON text."""
        return to_json(self)

    def save(self, path: str | Path) -> None:
        """Write the document to a file, as a whole or not at all.

        Raises
        ------
        InputError
            It cannot be written; E006.
        """
        write(path, self.to_json() + "\n")

    def __str__(self) -> str:
        """Lay the document out as the command line shows it, if it has such a form."""
        renderer = _RENDERERS[0] if _RENDERERS else None
        return repr(self) if renderer is None else renderer.as_text(printable(self))

    @classmethod
    def from_json(cls, text: str | bytes, *, file: str | None = None) -> Self:
        """Read the document.

        Raises
        ------
        InputError
            The text is no such document; E301, with the place in it.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError.of(
                "E301",
                f"this is no {cls._what}: {error}",
                file=file,
                accepted=f"a JSON document with {' and '.join(cls._marks())}",
                help=cls._help(text),
            ) from error

    @classmethod
    def _marks(cls) -> Iterator[str]:
        """Say what such a document says of itself."""
        for field in msgspec.structs.fields(cls):
            if field.name in ("schema", "kind") and isinstance(field.default, str):
                yield f'"{field.name}": "{field.default}"'

    @classmethod
    def _help(cls, text: str | bytes) -> str:  # noqa: ARG003 - of plans
        """Say how to come by such a document."""
        return f"`planopt` writes a document of {cls._what} with --json"


class Renderer(Protocol):
    """What turns documents, and fronts, into text."""

    def as_text(self, document: object) -> str:
        """Lay a document out as the command line shows it."""

    def as_html(self, document: object) -> str:
        """Show a document in a notebook."""

    def as_plot(self, document: Drawn) -> str:
        """Show the drawings of a document in a notebook."""


_RENDERERS: list[Renderer] = []


def render_with(renderer: Renderer) -> None:
    """Take what turns documents into text."""
    _RENDERERS[:] = [renderer]
