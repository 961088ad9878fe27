"""Writing an overlay catalog: files named by ids, inside their folder, unasked none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from planopt.errors import Diagnostic, InputError
from planopt.files import replacing, unwritable

_WORD = r"[a-z0-9]+(?:\.[a-z0-9]+)*"
_ID = re.compile(rf"{_WORD}(?:-{_WORD})*")
"""An id is the name of a file: nothing in it can lead to another folder."""

IDS = (
    "lower-case letters and digits, with single dots or hyphens between, as in gpt-4.5"
)
"""What `is_id` accepts, in words."""


def is_id(text: str) -> bool:
    """Whether a text can be the id of an entry, and so the name of its file."""
    return _ID.fullmatch(text) is not None


def id_of(text: str) -> str:
    """Make an id of a name; nothing where no letter or digit is left."""
    return "-".join(re.findall(_WORD, text.lower()))


def bare(figure: object) -> object:
    """Return a value without the source beside it."""
    return figure.get("value", figure) if isinstance(figure, dict) else figure


def toml_value(value: object) -> str:
    """Write a text, a number or a list of them: TOML escapes texts as JSON does.

    Two cases differ. TOML has no raw DEL, and no lone surrogates: what a name of a file
    has that is no UTF-8 is spelt out.
    """
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")
    return re.sub(r"[\ud800-\udfff]", lambda lone: rf"\\u{ord(lone[0]):04x}", text)


def toml_document(
    table: Mapping[str, object], path: tuple[str, ...] = (), head: str = "[{}]"
) -> str:
    """Write a document: values of a table first, then the tables in it.

    A table with a ``value`` is one figure, which stands on a line with its source.
    """
    lines, inner = [], []
    for name, value in table.items():
        key = name if re.fullmatch(r"[\w-]+", name, re.ASCII) else toml_value(name)
        if isinstance(value, list) and any(isinstance(each, dict) for each in value):
            within = (*path, key)
            inner += [toml_document(each, within, "[[{}]]") for each in value]
        elif not isinstance(value, dict):
            lines.append(f"{key} = {toml_value(value)}\n")
        elif "value" in value:
            told = ", ".join(f"{word} = {toml_value(value[word])}" for word in value)
            lines.append(f"{key} = {{ {told} }}\n")
        else:
            inner.append(toml_document(value, (*path, key)))
    title = f"{head.format('.'.join(path))}\n" if path and lines else ""
    return "\n".join(filter(None, [title + "".join(lines), *inner]))


def check_targets(folder: Path, names: Iterable[str], *, force: bool) -> None:
    """Refuse to write files that are there already, through links, or elsewhere."""
    with unwritable(folder, field="--out"):
        found = (_problem_of(folder, name, force=force) for name in names)
        problems = [problem for problem in found if problem is not None]
    if problems:
        raise InputError(dict.fromkeys(problems))


def write_overlay(
    folder: Path, files: Mapping[str, str], *, force: bool = False
) -> list[str]:
    """Write files of an overlay, all or, where one cannot be written, none."""
    check_targets(folder, files, force=force)
    with unwritable(folder, field="--out"), ExitStack() as whole:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            file = whole.enter_context(replacing(folder / name, field="--out"))
            file.write(text.encode("utf-8"))
            file.flush()
    return [str(folder / name) for name in files]


def _problem_of(folder: Path, name: str, *, force: bool) -> Diagnostic | None:
    kind, _, file = name.partition("/")
    if not (is_id(kind) and is_id(file)):
        return Diagnostic(
            code="E114",
            message=f"`{name}` cannot be a file of an overlay",
            field="--out",
            value=name,
            accepted=f"a name of {IDS}",
        )
    path = folder / name
    link = next((each for each in (path.parent, path) if each.is_symlink()), None)
    if link is not None:
        how = "is a link, and may lead out of the overlay"
        accepted, remedy = "an overlay without links inside", "remove the link"
    elif path.exists() and not (force and path.is_file()):
        how, accepted = "is there already", "a folder without it, or --force"
        remedy = "replace the file with `--force`"
    else:
        return None
    return Diagnostic(
        code="E010",
        message=f"`{link or path}` {how}",
        field="--out",
        value=str(link or path),
        accepted=accepted,
        help=f"name another folder with `--out`, or {remedy}",
    )
