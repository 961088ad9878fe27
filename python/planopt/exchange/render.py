"""Text of what is launched: a script, YAML, JSON. What users name is always quoted."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence

from msgspec import Struct

from planopt.exchange.tool import Value
from planopt.printable import printable


class Written(Struct, frozen=True, kw_only=True):
    """A flag as it is written."""

    flag: str
    value: Value = None
    """None of a switch."""
    several: bool = False
    shell: str | None = None
    """In place of the value, where a shell reads it: never words of users."""

    @property
    def words(self) -> list[str]:
        """As arguments, without a shell."""
        said = [] if self.value is None else [str(self.value)]
        said = said[0].split() if self.several and said else said
        return [*([self.flag] if self.flag else []), *said]

    @property
    def quoted(self) -> str:
        """As a shell takes it."""
        if self.shell is not None:
            return f"{self.flag} {self.shell}".strip()
        return shlex.join(self.words)


def comment(lines: Sequence[str]) -> str:
    """Lines that a reader sees and no tool does."""
    return "".join(f"# {line}".rstrip() + "\n" for line in map(one_line, lines))


def one_line(text: str) -> str:
    """Keep a text from ending the line that it stands in."""
    return printable(text)


def script(
    head: Sequence[str],
    start: Sequence[str],
    flags: Sequence[Written],
    extra: Sequence[str] = (),
) -> str:
    """Write a script that becomes what it starts; `extra` are words for the shell."""
    words = [shlex.join(start), *(each.quoted for each in flags), *extra]
    return f"#!/bin/sh\n{comment(head)}set -eu\nexec {command(words)}\n"


def command(words: Sequence[str]) -> str:
    """One command, a flag on each line."""
    return " \\\n  ".join(words)


def nested(flags: Sequence[Written]) -> dict[str, object]:
    """Dotted keys as objects in objects."""
    whole: dict[str, object] = {}
    for each in flags:
        *path, last = each.flag.split(".")
        inside = whole
        for key in path:
            inner = inside.setdefault(key, {})
            assert isinstance(inner, dict)
            inside = inner
        inside[last] = True if each.value is None else each.value
    return whole


def yaml(value: object, depth: int = 0) -> str:
    """Write YAML of what JSON has; every text is in double quotes, as JSON's are."""
    space = "  " * depth
    if isinstance(value, dict) and value:
        parts = []
        for key, each in value.items():
            inner = isinstance(each, (dict, list)) and each
            name = key if key.replace("_", "").isalnum() else json.dumps(key)
            body = f"\n{yaml(each, depth + 1)}" if inner else f" {_scalar(each, depth)}"
            parts.append(f"{space}{name}:{body}")
        return "".join(parts)
    if isinstance(value, list) and value:
        parts = []
        for each in value:
            nested = isinstance(each, (dict, list)) and each
            body = yaml(each, depth + 1).lstrip(" ") if nested else _scalar(each, depth)
            parts.append(f"{space}- {body}")
        return "".join(parts)
    return f"{space}{_scalar(value, depth)}"


def _scalar(value: object, depth: int) -> str:
    """Write a value; lines of plain characters are written as lines."""
    if isinstance(value, str) and re.fullmatch(r"[!-~](?:[ -~]*\n)+", value):
        space = "  " * (depth + 1)
        return "|\n" + "".join(f"{space}{line}\n" for line in value.splitlines())
    return json.dumps(value, ensure_ascii=False) + "\n"


def filled(template: object, terms: Mapping[str, object]) -> object:
    """Put terms into a template: ``{name}`` alone keeps its type, in a text it is text.

    What a term says nothing about is left out, with the key that it stands at.
    """
    if isinstance(template, str):
        alone = re.fullmatch(r"\{(\w+)\}", template)
        if alone:
            return terms[alone[1]]
        return re.sub(r"\{(\w+)\}", lambda each: str(terms[each[1]]), template)
    if isinstance(template, list):
        each = [filled(inner, terms) for inner in template]
        return [inner for inner in each if inner is not None]
    if isinstance(template, dict):
        whole = {
            str(filled(key, terms)): filled(inner, terms)
            for key, inner in template.items()
        }
        return {key: inner for key, inner in whole.items() if inner not in (None, {})}
    return template
