"""The seed article's figures, ours beside its."""

from collections.abc import Mapping, Sequence
from typing import Any

from planopt.report.style import UNKNOWN, head
from planopt.report.table import Report, Section, Sentence, Table, listed

Row = Mapping[str, Any]

_TITLES = ("figure", "article", ">exact", ">ours", ">off by", "+>chained", "unit")

# How far a derived figure may be off.
_TOLERANCE = 0.005


def render_reproduction(rows: Sequence[Row]) -> Report:
    """Lay the figures out by topic, with what needs explaining below each table."""
    topics = dict.fromkeys(row["topic"] for row in rows)
    tables = (_topic(topic, rows) for topic in topics)
    return Report(*tables, Section("", Sentence(_summary(rows), "")))


def _topic(topic: str, rows: Sequence[Row]) -> Section:
    own = [row for row in rows if row["topic"] == topic]
    notes = (f"{row['id']}: {row['note']}" for row in own if row.get("note"))
    table = Table(_TITLES, [*map(_cells, own)], hyphens=True)
    return Section("", head(topic), table, Section("", *listed(notes)))


def _cells(row: Row) -> tuple[str, ...]:
    off = _deviation(row)
    return (
        str(row["id"]),
        *(_figure(row.get(key)) for key in ("article", "exact")),
        row["kind"] if row["kind"] == "quoted" else _figure(row.get("ours")),
        UNKNOWN if off is None else f"{off:+.2%}",
        _figure(row.get("chained")),
        str(row.get("unit") or ""),
    )


def _figure(value: object) -> str:
    if value is None or value == "":
        return UNKNOWN
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _deviation(row: Row) -> float | None:
    ours, exact = row.get("ours"), row.get("exact")
    if ours is None or not isinstance(exact, int | float):
        return None
    deviation: float = ours / exact - 1
    return deviation


def _summary(rows: Sequence[Row]) -> str:
    derived, as_printed, quoted = (
        [row for row in rows if row["kind"] == kind]
        for kind in ("derived", "as-printed", "quoted")
    )
    offs = [off for off in map(_deviation, derived) if off is not None]
    within = sum(abs(off) <= _TOLERANCE for off in offs)
    counts = [
        (len(derived), f"derived, {within} of them within {_TOLERANCE:.1%}"),
        (len(as_printed), "from the article's rounded inputs, with ours chained"),
        (len(quoted), "quoted measurements"),
    ]
    return "; ".join(f"{number} {what}" for number, what in counts if number)
