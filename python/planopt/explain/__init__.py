"""What each diagnostic means, with an example that triggers it and the fix.

The texts are data, in ``codes.toml``.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from pathlib import Path

import msgspec

from planopt.errors import InputError
from planopt.toml import tomllib


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """What a diagnostic means."""

    code: str
    title: str
    meaning: str
    example: str
    fix: str


@cache
def explanations() -> tuple[Explanation, ...]:
    """All of them, in the order of their codes."""
    text = Path(__file__).with_name("codes.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)
    return tuple(
        msgspec.convert({"code": code, **entry}, Explanation)
        for code, entry in sorted(entries.items())
    )


def explanation(code: str) -> Explanation:
    """Look one up."""
    known = {each.code: each for each in explanations()}
    if code.upper() in known:
        return known[code.upper()]
    nearest = get_close_matches(code.upper(), known, n=3)
    raise InputError.of(
        "E001",
        f"there is no diagnostic `{code}`",
        value=code,
        accepted="a code such as E105; `planopt explain` lists them",
        help=f"did you mean {' or '.join(nearest)}?" if nearest else None,
    )
