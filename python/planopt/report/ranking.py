"""Accelerators by what they put out for a dollar: a table with bars, and a chart."""

from xml.sax.saxutils import escape

from planopt.planning.compare import Ranking, Standing, Value
from planopt.report.money import money_per_million
from planopt.report.numbers import rate
from planopt.report.parts import GB
from planopt.report.style import UNKNOWN, head
from planopt.report.table import Report, Sentence, Table, beside

_BAR = 16  # characters of the longest bar, where there is room
_ROW, _BAND, _LABELS, _WIDTH = 22, 5, 260, 860  # pixels of the chart
_COLOURS = {"new": "#1b6ca8", "used": "#6aa84f", "rented": "#c27c0e"}


def render_ranking(ranking: Ranking) -> Report:
    """Lay a ranking out for a terminal."""
    cells = [
        (
            each.accelerator,
            f"{rate(each.memory_bytes / GB)} GB",
            _needed(each),
            *(_paid(value) for value in (each.new, each.used, each.rented)),
        )
        for each in ranking.standings
    ]
    titles = ("memory", "needs", "new", "used", "rented")
    room = min(beside(("", *titles), cells), _BAR)
    rows = [
        (*row, "#" * max(1, round(room * each.best)))
        for row, each in zip(cells, ranking.standings, strict=True)
    ]
    said = (
        f"$ per million tokens at {ranking.context_tokens:,} tokens of context, "
        f"with the host's share, over {ranking.years:g} years busy "
        f"{ranking.duty:.0%} of the time, electricity at "
        f"${ranking.electricity_usd_per_kwh:g}/kWh. `needs`: accelerators that one "
        "copy of the model takes. The bar is the best way of each."
    )
    without = f"without a price, or too small: {', '.join(ranking.without)}"
    return Report(
        head(f"Tokens per dollar, {ranking.model}"),
        Table(("=", *(f">{each}" for each in titles), "=best"), rows),
        Sentence(said),
        *([Sentence(without)] if ranking.without else []),
    )


def _needed(each: Standing) -> str:
    counts = {v.accelerators for v in (each.new, each.used, each.rented) if v}
    return "/".join(str(count) for count in sorted(counts))


def _paid(value: Value | None) -> str:
    return UNKNOWN if value is None else money_per_million(value.usd_per_million_tokens)


def chart(ranking: Ranking) -> str:
    """Draw a ranking as an SVG: a bar for each way of coming by each accelerator."""
    height = _ROW * (len(ranking.standings) + 3)
    scale = _WIDTH - _LABELS - 60
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="18" font-size="14">Tokens per dollar, relative to the best: '
        f"{escape(ranking.model)}, {ranking.years:g} years, busy "
        f"{ranking.duty:.0%}, ${ranking.electricity_usd_per_kwh:g}/kWh</text>",
    ]
    for place, (way, colour) in enumerate(_COLOURS.items()):
        x = 10 + 90 * place
        parts.append(f'<rect x="{x}" y="28" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14}" y="38">{way}</text>')
    for row, each in enumerate(ranking.standings):
        top = _ROW * (row + 2) + 6
        parts.append(f'<text x="10" y="{top + 12}">{escape(each.name)}</text>')
        for place, (way, colour) in enumerate(_COLOURS.items()):
            value: Value | None = getattr(each, way)
            if value is None:
                continue
            y, long = top + _BAND * place, max(1.0, scale * value.relative)
            parts.append(
                f'<rect x="{_LABELS}" y="{y}" width="{long:.1f}" '
                f'height="{_BAND - 1}" fill="{colour}"/>'
            )
        end = _LABELS + scale * each.best + 6
        parts.append(f'<text x="{end:.1f}" y="{top + 12}">{each.best:.2f}</text>')
    return "\n".join([*parts, "</svg>"])
