"""The one door to the core: options by their names become the groups of a question."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from planopt._native import doors
from planopt.errors import Diagnostic, InputError

_doors: Final = cache(doors)


@cache
def _places(door: str) -> dict[str, tuple[str, ...]]:
    """Where each option stands in a question: a key of a group, or a group.

    What a group has under ``name`` is asked for by the name of the group.
    """
    told = _doors()[door]
    places: dict[str, tuple[str, ...]] = {}
    for group, keys in told:
        for key in keys:
            places.setdefault(key, (group, key))
    for group, keys in told:
        places[group] = (group, "name") if "name" in keys else (group,)
    return places


def question(door: str, given: Mapping[str, object]) -> dict[str, object]:
    """Put options as a door of the core takes them.

    What no group has stays where it is: the core refuses it, and says what there is.
    """
    places = _places(door)
    tables: dict[str, dict[str, object]] = {}
    values: dict[str, object] = {}
    for name, value in given.items():
        if value is None:
            continue
        group, *key = places.get(name, (name,))
        if isinstance(value, Mapping) and name == "decode" != door:
            values[group] = question(name, _own(value, given))
        elif isinstance(value, Mapping) and name == group:
            tables.setdefault(group, {}).update(value)
        elif key:
            tables.setdefault(group, {})[key[0]] = value
        else:
            values[group] = value
    return {**tables, **values}


def _own(pool: Mapping[str, object], whole: Mapping[str, object]) -> dict[str, object]:
    """Leave out what is said of a whole question alike."""
    places = _places("decode")
    return {
        name: value
        for name, value in pool.items()
        if name in places or whole.get(name) != value
    }


def written(asked: Mapping[str, object]) -> bytes:
    """Write a question as the core reads it; what JSON has no word for is refused.

    Not by msgspec, which writes a number that is none as if nothing were said.
    """
    try:
        return _json(asked)
    except (TypeError, ValueError, RecursionError):
        raise InputError(_unsayable(asked)) from None


def _json(value: object) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=dict)
    return text.encode()


def _unsayable(asked: Mapping[str, object]) -> Iterator[Diagnostic]:
    for group, table in asked.items():
        keys = table if isinstance(table, Mapping) else {"": table}
        for key, value in keys.items():
            try:
                _json({key: value})
            except (TypeError, ValueError, RecursionError):  # noqa: PERF203 - each is told
                yield Diagnostic(
                    code="E104",
                    message=f"{reprlib.repr(value)} cannot be handed over",
                    field=f"{group}.{key}".rstrip("."),
                    value=reprlib.repr(value),
                    accepted="finite numbers, text, lists and tables",
                )
