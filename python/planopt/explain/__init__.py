"""What each diagnostic means, with an example that triggers it and the fix.

The texts are data, in ``codes.toml``.
"""

from functools import cache
from pathlib import Path

import msgspec

from planopt.errors import InputError, meant
from planopt.toml import read_table


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
    texts = read_table(
        Path(__file__).with_name("codes.toml"), dict[str, dict[str, str]]
    )
    return tuple(Explanation(code=code, **each) for code, each in sorted(texts.items()))


def explanation(code: str) -> Explanation:
    """Look one up."""
    known = {each.code: each for each in explanations()}
    if code.upper() in known:
        return known[code.upper()]
    raise InputError.of(
        "E001",
        f"there is no diagnostic `{code}`",
        value=code,
        accepted="a code such as E105; `planopt explain` lists them",
        help=meant(code.upper(), known, most=3),
    )
