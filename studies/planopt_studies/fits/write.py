"""Fitted figures as TOML, in the part of assumptions that a machine writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from planopt.errors import InputError
from planopt.files import write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from planopt_studies.fits.fit import Fit

__all__ = [
    "ENGINES_BEGIN",
    "ENGINES_END",
    "Section",
    "replace_fitted",
    "section",
    "sourced",
]

BEGIN: Final = "# Fitted to measured kernels by `make calibrate`: do not edit by hand."
END: Final = "# End of what was fitted."
ENGINES_BEGIN: Final = (
    "# Fitted to serving figures by `make calibrate-engines`: do not edit by hand."
)
ENGINES_END: Final = "# End of the engines."

# Units of figures by the last word of their names; others are shares and counts.
_UNITS: Final = {"overhead": "us", "latency": "us", "limit": "MiB"}
_DIGITS: Final = 4

Section = list[str]
"""Lines of a table, with the source of its figures behind."""


def section(
    table: str, figures: Mapping[str, float], fits: Iterable[Fit], cite: str, date: str
) -> Section:
    """Write a table of fitted figures, with their error and the rows behind them."""
    fits = list(fits)
    source = "fit-" + "-".join(
        part.strip('"').lower().replace(" ", "-") for part in table.split(".")[1:]
    )
    errors = " and ".join(f"{each.median_error:.1%}" for each in fits)
    means = " and ".join(f"{each.mean_error:.1%}" for each in fits)
    rows = " and ".join(f"{each.rows}" for each in fits)
    lines = [f"[{table}]"]
    for name, value in figures.items():
        text = f"{value:.{_DIGITS}g}"
        unit = _UNITS.get(name.rpartition("_")[2])
        shown = f'"{text} {unit}"' if unit else text
        lines.append(f'{name} = {{ value = {shown}, source = "{source}" }}')
    lines += [
        "",
        f"[sources.{source}]",
        f'cite = "{cite}: {rows} rows, median error {errors}, mean {means}"',
        f'date = "{date}"',
        'status = "derived"',
        "",
    ]
    return lines


def sourced(table: str, figures: Mapping[str, str], source: str, cite: str) -> Section:
    """Write a table of figures that were fitted to what users measured."""
    lines = [f"[{table}]"]
    for name, shown in figures.items():
        lines.append(f'{name} = {{ value = {shown}, source = "{source}" }}')
    return [*lines, "", f"[sources.{source}]", *cite.splitlines(), ""]


def replace_fitted(
    path: Path, sections: Iterable[Section], *, begin: str = BEGIN, end: str = END
) -> None:
    """Put the tables in place of those that were fitted before.

    Raises
    ------
    InputError
        E007 for a file without the two lines between which they stand.
    """
    text = path.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        raise InputError.of(
            "E007",
            "there is no place for fitted figures in the file",
            value=str(path),
            accepted=f"the lines `{begin}` and `{end}`",
        )
    before = text[: text.index(begin) + len(begin)]
    after = text[text.index(end) :]
    body = "\n".join(line for lines in sections for line in lines)
    write(path, f"{before}\n{body}\n{after}")
