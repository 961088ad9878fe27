"""Plans with one field changed, which no verifier may take.

As a program (`make forge`) it changes every leaf of saved plans and lists what passed.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from planopt.errors import InputError
from planopt.second_opinion import verify_content
from planopt_reference.fields import mark_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_INDEX = re.compile(r"\[\d+\]")
# Facts are held to their digests, table by table: of those below, so many are tried.
_SHARE_OF_FACTS = 0.02


def forged(document: Any, field: str, value: object) -> Any:
    """Copy a document with another value in one place, such as ``runs[0].days``."""
    document = copy.deepcopy(document)
    set_leaf(document, field, value)
    return document


def set_leaf(document: Any, field: str, value: object) -> None:
    """Put another value into one place."""
    holder, key = located(document, field)
    holder[key] = value


def located(document: Any, field: str) -> tuple[Any, str | int]:
    """Find what holds a leaf, and its key there: keys may have dots of their own."""
    if not isinstance(document, dict):
        index, _, rest = field.removeprefix("[").partition("]")
        if not rest:
            return document, int(index)
        return located(document[int(index)], rest.removeprefix("."))
    if field in document:
        return document, field
    ends = [at for at, letter in enumerate(field) if letter in ".["]
    for end in reversed(ends):
        if field[:end] in document:
            rest = field[end:].removeprefix(".")
            return located(document[field[:end]], rest)
    raise KeyError(field)


def other_than(value: object, by: float = 1e-6) -> object:
    """Something else of the same type; a float off by this share and a little more."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * (1 + by) + by
    return f"{value}x" if isinstance(value, str) else ["something"]


@dataclass(frozen=True)
class Forgery:
    """One change of a document in one place."""

    how: str
    path: tuple[str | int, ...]
    value: object = None

    @property
    def field(self) -> str:
        """Where, as marks name it."""
        keys = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.path)
        return "".join(keys).lstrip(".")

    def made(self, text: bytes) -> bytes | None:
        """Change the document; nothing where that leaves it as it is."""
        document = holder = json.loads(text)
        *around, key = self.path
        for each in around:
            holder = holder[each]
        if self.how == "deleted":
            del holder[key]
        elif self.how == "duplicated":
            holder.insert(key, copy.deepcopy(holder[key]))
        elif self.how == "swapped":
            at = int(key)
            holder[at : at + 2] = holder[at : at + 2][::-1]
        else:
            holder[key] = self.value
        same = document == json.loads(text)
        return None if same else json.dumps(document).encode()


def forgeries(document: object) -> list[Forgery]:
    """Every change of every place: a hundredth more, its sign, another, none, twice."""
    return list(_forgeries(document, ()))


def _forgeries(value: Any, path: tuple[str | int, ...]) -> Iterator[Forgery]:
    if path:
        for how, other in _others(value):
            yield Forgery(how, path, other)
        yield Forgery("deleted", path)
        if isinstance(path[-1], int):
            yield Forgery("duplicated", path)
            yield Forgery("swapped", path)
    inner = value.items() if isinstance(value, dict) else ()
    for key, each in enumerate(value) if isinstance(value, list) else inner:
        yield from _forgeries(each, (*path, key))


def _others(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, bool):
        yield "inverted", not value
    elif isinstance(value, int):
        yield "a hundredth more", value + max(1, value // 100)
        yield "sign", -value
    elif isinstance(value, float):
        yield "a hundredth more", value * 1.01 if value else 0.01
        yield "sign", -value
    elif isinstance(value, str):
        yield "other", f"{value}x"
    elif value is None:
        yield "invented", 1
        yield "invented", "x"
    if value not in (None, [], {}):
        yield "nothing", None


def passes(content: bytes) -> bool:
    """Whether `planopt verify` takes a file."""
    try:
        return bool(verify_content(content, "plan.json"))
    except InputError:
        return False


def drawn(document: object, random: Random, number: int | None) -> list[Forgery]:
    """Draw so many of the forgeries, of facts only some."""
    some = [
        each
        for each in forgeries(document)
        if each.path[0] != "facts"
        or len(each.path) <= 3
        or random.random() < _SHARE_OF_FACTS
    ]
    return some if number is None else random.sample(some, min(number, len(some)))


def passed(text: bytes, tried: Iterable[Forgery]) -> dict[str, set[str]]:
    """Return which of them pass: how, by the place without its numbers."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for each in tried:
        content = each.made(text)
        if content is not None and passes(content):
            found[_INDEX.sub("[]", each.field)].add(each.how)
    return dict(found)


def main() -> None:
    """List for each plan which changes pass, with the marks of their places."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("plans", nargs="+")
    asked.add_argument("--number", type=int, help="of changes drawn; all, by itself")
    asked.add_argument("--seed", type=int, default=0)
    given = asked.parse_args()
    for file in given.plans:
        text = Path(file).read_bytes()
        if not passes(text):
            print(f"{file}: it is refused as it is")
            continue
        tried = drawn(json.loads(text), Random(given.seed), given.number)
        found = passed(text, tried)
        many = sum(map(len, found.values()))
        print(f"{file}: {len(tried)} changes, {many} kinds of change passed")
        for place, ways in sorted(
            found.items(), key=lambda each: str(mark_of(each[0]))
        ):
            print(f"  {mark_of(place)}  {place}: {', '.join(sorted(ways))}")


if __name__ == "__main__":
    main()
