"""The one door to the core: options by their names become the groups of a question."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from planopt._native import groups

__all__ = ["question"]


@cache
def _places(door: str) -> dict[str, tuple[str, ...]]:
    """Where each option stands in a question: a key of a group, or a group.

    What a group has under ``name`` is asked for by the name of the group.
    """
    told = groups(door)
    places: dict[str, tuple[str, ...]] = {}
    for group, keys in told:
        for key in keys:
            places.setdefault(key, (group, key))
    for group, keys in told:
        places[group] = (group, "name") if "name" in keys else (group,)
    return places


def question(door: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Put options as a door of the core takes them.

    What no group has stays where it is: the core refuses it, and says what there is.
    """
    places = _places(door)
    asked: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        group, *key = places.get(name, (name,))
        if name == "decode" and door != name:
            asked[group] = question(name, _own(value, given))
        elif isinstance(value, Mapping) and name == group:
            asked.setdefault(group, {}).update(value)
        elif key:
            asked.setdefault(group, {})[key[0]] = value
        else:
            asked[group] = value
    return asked


def _own(pool: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is said of a whole question alike."""
    places = _places("decode")
    return {
        name: value
        for name, value in pool.items()
        if name in places or whole.get(name) != value
    }
