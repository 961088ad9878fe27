"""Command lines and configuration files as people have them: words and settings."""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from planopt.errors import InputError, needing
from planopt.files import read
from planopt.toml import loads

_COMMENT = re.compile(r"""('[^']*'|"(?:\\.|[^"\\])*"|\\.)|(?<!\S)#[^\n]*""", re.S)
_SHEBANG = re.compile(r"^\s*#!\S*(?:[ \t]+(?:ba|z|da)?sh(?=\s))?")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::?-([^}]*))?\})")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.S)
_PASSED_ON = ("$@", "$*")
"""What whoever starts a script says himself."""
_ENDS = (";", "&&", "||", "|", "&", ">", ">>", "2>&1", "<")


def shell_words(text: str) -> tuple[list[str], dict[str, str]]:
    """Take a script apart: words, with the variables it sets put in."""
    plain = _COMMENT.sub(lambda each: each[1] or "", _SHEBANG.sub("", text))
    joined = re.sub(r"\\\s*\n", " ", plain)
    # What a shell is to work out is nothing that is said here.
    try:
        words = shlex.split(re.sub(r"(?<!\S)\$\([^)]*\)", " ", joined))
    except ValueError as error:
        raise InputError.of(
            "E304", f"the command line cannot be read: {error}", value=text[:60]
        ) from error
    environment: dict[str, str] = {}
    said: list[str] = []
    for word in filter(None, map(str.strip, words)):
        if word in _PASSED_ON:
            continue
        whole = _VARIABLE.sub(lambda each: _value(each, environment), word)
        assigned = _ASSIGNED.fullmatch(whole)
        if assigned and said[-1:] != ["-e"]:
            environment[assigned[1]] = assigned[2]
        else:
            said.append(whole)
    return said, environment


def _value(variable: re.Match[str], environment: Mapping[str, str]) -> str:
    name = variable[1] or variable[2]
    return environment.get(name, variable[3] or variable[0])


def begun(words: list[str], begins: tuple[str, ...]) -> tuple[str, list[str]] | None:
    """Find the words that a program begins with; return it and what follows."""
    for begin in begins:
        wanted = begin.split()
        for place in range(len(words) - len(wanted) + 1):
            first, *rest = words[place : place + len(wanted)]
            if [first.rsplit("/", 1)[-1], *rest] == wanted:
                following = words[place + len(wanted) :]
                ends = (n for n, each in enumerate(following) if each in _ENDS)
                return begin, following[: next(ends, len(following))]
    return None


def settings(
    document: Mapping[str, object], before: str = ""
) -> Iterator[tuple[str, object]]:
    """List the settings of a document by dotted keys."""
    for key, value in document.items():
        name = f"{before}{key}"
        if isinstance(value, dict):
            yield from settings(value, f"{name}.")
        else:
            yield name, value


def content(what: str) -> tuple[str, Mapping[str, object] | None]:
    """Read a file, if it is one: its text, and its document unless it is a script."""
    path = Path(what)
    try:
        if "\n" in what or not path.is_file():
            return what, None
        text = read(path).decode("utf-8")
    except (OSError, ValueError):
        return what, None
    readers: dict[str, Callable[[str], object]] = {
        ".json": json.loads,
        ".toml": loads,
        ".yaml": _yaml,
        ".yml": _yaml,
    }
    if path.suffix not in readers:
        return text, None
    try:
        document = readers[path.suffix](text)
    except ValueError as error:
        raise InputError.of(
            "E304", f"the file cannot be read: {error}", file=path
        ) from error
    if not isinstance(document, dict):
        raise InputError.of("E304", "the file says nothing by name", file=path)
    return text, document


def _yaml(text: str) -> object:
    accepted = "JSON or TOML, which need no package"
    with needing("pyyaml", "exchange", accepted=accepted):
        import yaml
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
