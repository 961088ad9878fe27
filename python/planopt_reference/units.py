"""Figures of a catalog, which carry their unit inside the value, as plain numbers.

Results are in the base unit of their dimension: bytes, bytes per second, FLOP per
second, watts, seconds, dollars. Money that is bought with is integer micro-dollars.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Final

MICRO_USD_PER_USD: Final = 1_000_000

_DECIMAL: Final = {
    "": Decimal(1),
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "P": Decimal(10) ** 15,
}
_BINARY: Final = {
    "Ki": Decimal(2) ** 10,
    "Mi": Decimal(2) ** 20,
    "Gi": Decimal(2) ** 30,
    "Ti": Decimal(2) ** 40,
}
_BITS_PER_BYTE: Final = Decimal(8)

_UNITS: Final[dict[str, tuple[str, Decimal]]] = {
    **{f"{p}B": ("bytes", scale) for p, scale in (_DECIMAL | _BINARY).items()},
    **{f"{p}B/s": ("bytes/s", scale) for p, scale in (_DECIMAL | _BINARY).items()},
    **{f"{p}bps": ("bytes/s", s / _BITS_PER_BYTE) for p, s in _DECIMAL.items()},
    **{f"{p}FLOPS": ("flop/s", scale) for p, scale in _DECIMAL.items()},
    **{f"{p}W": ("watts", scale) for p, scale in _DECIMAL.items()},
    "d": ("seconds", Decimal(86_400)),
    "h": ("seconds", Decimal(3600)),
    "min": ("seconds", Decimal(60)),
    "s": ("seconds", Decimal(1)),
    "ms": ("seconds", Decimal("1e-3")),
    "us": ("seconds", Decimal("1e-6")),
    "ns": ("seconds", Decimal("1e-9")),
}
_QUANTITY: Final = re.compile(r"([-+]?[\d.,_]+(?:[eE][-+]?\d+)?)\s*(\S+)")
_MONEY: Final = re.compile(r"\$\s*([\d.,_]+)(?:/(\w+))?")


class UnitError(ValueError):
    """A figure without a unit, or with one of another dimension."""


def _number(text: str) -> Decimal:
    try:
        return Decimal(text.replace(",", "").replace("_", ""))
    except InvalidOperation as error:
        message = f"`{text}` is not a number"
        raise UnitError(message) from error


def unwrapped(figure: object) -> object:
    """Return the value of a figure, without its source.

    Parameters
    ----------
    figure : object
        A bare value, or a table of `value` and `source`.

    Returns
    -------
    object
        The value as the file states it.
    """
    return figure["value"] if isinstance(figure, dict) else figure


def quantity(figure: object, dimension: str) -> float:
    """Read a figure with a unit.

    Parameters
    ----------
    figure : object
        For example `"24 GiB"`, alone or in a table with its source.
    dimension : str
        `bytes`, `bytes/s`, `flop/s`, `watts` or `seconds`.

    Returns
    -------
    float
        The figure in the base unit of that dimension.

    Raises
    ------
    UnitError
        If the unit is unknown, missing, or of another dimension.
    """
    value = unwrapped(figure)
    parts = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if parts is None or _UNITS.get(parts[2], ("",))[0] != dimension:
        accepted = ", ".join(
            unit for unit, kind in _UNITS.items() if kind[0] == dimension
        )
        message = (
            f"`{value}` is not a figure in {dimension}: write a number and {accepted}"
        )
        raise UnitError(message)
    return float(_number(parts[1]) * _UNITS[parts[2]][1])


def seconds(figure: object) -> float:
    """Return the seconds of a duration."""
    return quantity(figure, "seconds")


def bytes_per_second(figure: object) -> float:
    """Return the bytes per second of a bandwidth."""
    return quantity(figure, "bytes/s")


def count(figure: object) -> int:
    """Read a whole number, such as layers or slots."""
    value = unwrapped(figure)
    if isinstance(value, bool) or not isinstance(value, int):
        message = f"`{value}` is not a whole number"
        raise UnitError(message)
    return value


def share(figure: object) -> float:
    """Read a bare number, such as an efficiency."""
    value = unwrapped(figure)
    if isinstance(value, bool) or not isinstance(value, int | float):
        message = f"`{value}` is not a bare number"
        raise UnitError(message)
    return float(value)


def _dollars(figure: object, per: str | None) -> Decimal:
    value = unwrapped(figure)
    parts = _MONEY.fullmatch(value.strip()) if isinstance(value, str) else None
    if parts is None or parts[2] != per:
        wanted = "$1599" if per is None else f"$1/{per}"
        message = f"`{value}` is not money as in `{wanted}`"
        raise UnitError(message)
    return _number(parts[1])


def price(figure: object) -> int:
    """Read the price of one in integer micro-dollars, rounded up where it is shared."""
    whole = int(_dollars(figure, None) * MICRO_USD_PER_USD)
    per = count(figure.get("per", 1)) if isinstance(figure, dict) else 1
    return -(-whole // per)


def dollars_per(figure: object, per: str) -> float:
    """Read dollars per something, such as per `kWh` or `month`."""
    return float(_dollars(figure, per))
