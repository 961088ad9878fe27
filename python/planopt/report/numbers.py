"""Figures as people read them. What is not known is a dash, never a 0."""

from collections.abc import Callable

from planopt.price_sources import MILLION, three_digits
from planopt.report.style import UNKNOWN
from planopt.units import SECONDS_PER_HOUR

_GIGABYTE = 1e9
_KG_PER_TONNE = 1e3
_SECONDS_PER_MINUTE = 60


def told(form: str, times: float = 1.0) -> Callable[[float | None], str]:
    """Return what tells a figure, so many times itself, to three significant digits."""
    return lambda figure: (
        UNKNOWN
        if figure is None
        else "-" * (figure < 0) + form.format(three_digits(abs(figure) * times))
    )


rate = days = told("{}")
"""Tokens per second, days or another figure, without the unit: 12.3, 4,057, 0.42."""
milliseconds = told("{} ms", 1e3)


def duration(seconds: float | None) -> str:
    """Seconds in the unit that people would use."""
    if seconds is None:
        return UNKNOWN
    if seconds < 1:
        return milliseconds(seconds)
    if seconds < 2 * _SECONDS_PER_MINUTE:
        return f"{three_digits(seconds)} s"
    if seconds < 2 * SECONDS_PER_HOUR:
        return f"{three_digits(seconds / _SECONDS_PER_MINUTE)} min"
    return f"{three_digits(seconds / SECONDS_PER_HOUR)} h"


def size(bytes_: float | None) -> str:
    """Bytes as GB of 10^9."""
    return UNKNOWN if bytes_ is None else f"{bytes_ / _GIGABYTE:,.2f} GB"


def watts(power: float | None) -> str:
    """Watts, as kW from a thousand on, as MW from a million on."""
    if power is None:
        return UNKNOWN
    if power < 1e3:
        return f"{power:.0f} W"
    if power < MILLION:
        return f"{three_digits(power / 1e3)} kW"
    return f"{three_digits(power / MILLION)} MW"


def many(number: float) -> str:
    """Write a number as it may be typed: ``2T``, ``140B``, ``4.2M``, ``1.5k``."""
    sizes = ((1e12, "T"), (1e9, "B"), (MILLION, "M"), (1e3, "k"))
    for size_, prefix in sizes:
        if number >= size_:
            return f"{number / size_:.3g}{prefix}"
    return f"{number:.3g}"


def tonnes(kilograms: float | None) -> str:
    """Mass of carbon dioxide and its equivalents."""
    if kilograms is None:
        return UNKNOWN
    return f"{three_digits(kilograms / _KG_PER_TONNE)} t CO2e"


def count(number: float | None) -> str:
    """Whole number with its thousands apart."""
    return UNKNOWN if number is None else f"{number:,.0f}"


def counted(number: int, what: str) -> str:
    """Say how many there are: ``1 warning``, ``3 warnings``."""
    return f"{count(number)} {what}{'s' * (number != 1)}"


def share(fraction: float | None) -> str:
    """Fraction as per cent, with its sign."""
    return UNKNOWN if fraction is None else f"{fraction:+.0%}"


def percent(fraction: float | None, *, sign: str = "") -> str:
    """Fraction as per cent with one digit behind the point; ``+`` signs a gain too."""
    return UNKNOWN if fraction is None else f"{fraction:{sign}.1%}"


_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_BYTES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


def in_unit(value: float, unit: str) -> str:
    """Figure in the part or multiple of its unit that reads best: 4.87 us, 1.05 MB."""
    sizes = {"s": _SECONDS, "bytes": _BYTES}.get(unit, ())
    for scale, name in sizes:
        if abs(value) >= scale:
            return f"{value / scale:.4g} {name}"
    whole = abs(value) < 1e15 and value == int(value)
    number = f"{value:,.0f}" if whole else f"{value:.6g}"
    return f"{number} {unit}".rstrip()
