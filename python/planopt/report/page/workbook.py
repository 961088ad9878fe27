"""A plan as a workbook whose totals are formulas: change a price, and they follow."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from planopt import units
from planopt.documents.fleet import FleetPlan
from planopt.documents.plan import Plan, PlanDocument, TrainingPlan
from planopt.errors import needing
from planopt.report.page.tables import sections

if TYPE_CHECKING:
    from xlsxwriter import Workbook


_WIDTHS = (34, 16, 12, 14, 16, 16, 14, 28)
_USD, _RATE, _PLAIN = "$#,##0", '$#,##0.000"/h"', "General"
_BILL = (
    *("Part", "Kind", "Quantity", "Each, USD", "Total, USD"),
    *("Each, USD/h", "Paid share", "Rent, USD/h", "Price from"),
)
_RATES = {
    "years": "Years until written off",
    "residual": "Share of the price that is left then",
    "electricity_usd_per_kwh": "Electricity, USD/kWh",
    "duty": "Share of the hours that are busy",
    "pue": "Power usage effectiveness",
    "rack_usd_per_month": "A rack, USD per month",
    "rack_units": "Units of a rack",
    "colocation_usd_per_kw_month": "Colocation, USD per kW and month",
    "support_per_year": "Support, share of the price a year",
    "staff_usd_per_rack_year": "Staff, USD per rack and year",
    "wacc": "Interest of a year",
}


def workbook(plan: PlanDocument) -> bytes:
    """Write a plan as a workbook of Excel or LibreOffice, by XlsxWriter (else E905)."""
    accepted = "--csv, which needs no package"
    with needing("xlsxwriter", "xlsx", accepted=accepted, field="--xlsx"):
        import xlsxwriter
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        if plan.provenance:
            date = datetime.fromisoformat(plan.provenance.date)
            book.set_properties({"created": date})
        for of in sections(plan):
            if of.title not in ("What to buy", "What it costs to run"):
                sheet = _Sheet(book, of.title, [column.title for column in of.columns])
                for cells in of.cells():
                    unit = [cells[1][1].unit] if of.title == "Answer" else []
                    sheet.row(*(figure.value for _, figure in cells), *unit)
        if plan.bill_of_materials:
            total, rent = _bill(_Sheet(book, "Bill", _BILL), plan)
            if isinstance(plan, (Plan, TrainingPlan)) and plan.cost.parts:
                _cost(_Sheet(book, "Cost", ("", "value")), plan, total, rent)
        if isinstance(plan, FleetPlan):
            _periods(_Sheet(book, "Total", ("", "USD")), plan)
    return file.getvalue()


class _Sheet:
    """Rows from the top; a text is never taken for a formula."""

    def __init__(self, book: Workbook, name: str, titles: Sequence[str]) -> None:
        self._sheet = book.add_worksheet(name)
        self._book, self._row = book, 0
        for at, width in enumerate(_WIDTHS):
            self._sheet.set_column(at, at, width)
        bold = book.add_format({"bold": True})
        for at, title in enumerate(titles):
            self._sheet.write_string(0, at, title, bold)
        self._sheet.freeze_panes(1, 0)

    def row(self, *cells: object, form: str = _PLAIN) -> int:
        """Write a row; a pair is a formula with its value. Return its number."""
        style = self._book.add_format({"num_format": form})
        self._row += 1
        for at, cell in enumerate(cells):
            match cell:
                case None:
                    pass
                case (str() as formula, value):
                    self._sheet.write_formula(self._row, at, formula, style, value)
                case int() | float():
                    self._sheet.write_number(self._row, at, cell, style)
                case _:
                    self._sheet.write_string(self._row, at, str(cell))
        return self._row + 1


def _bill(sheet: _Sheet, plan: PlanDocument) -> tuple[str, str]:
    """Write the bill, and return where its sums are."""
    first, last = 2, len(plan.bill_of_materials) + 1
    reserved = _reserved(plan)
    rates = plan.facts.rates if plan.facts else {}
    regained = rates.get("regained") or 0.0
    on_demand = 1 - regained * (1 - (rates.get("duty") or 1.0))
    paid = 0.0
    for at, line in enumerate(plan.bill_of_materials, start=first):
        share: object = 1
        rent = line.usd_per_hour or 0.0
        if line.id not in reserved:
            share = f"=1-{regained}*(1-Cost!B5)", on_demand
            rent *= on_demand
        paid += rent
        owned = line.unit_price_usd is not None
        sheet.row(
            *(line.name, line.kind, line.quantity, line.unit_price_usd),
            (f"=C{at}*D{at}", line.price_usd) if owned else None,
            line.unit_usd_per_hour,
            share if not owned else None,
            (f"=C{at}*F{at}*G{at}", rent) if not owned else None,
            line.source,
        )
    below = sheet.row(
        *("Sum", None, None, None),
        (f"=SUM(E{first}:E{last})", plan.price_usd or 0.0),
        *(None, None),
        (f"=SUM(H{first}:H{last})", paid),
        form=_USD,
    )
    return f"Bill!E{below}", f"Bill!H{below}"


def _reserved(plan: PlanDocument) -> set[str]:
    """Name instances that are paid whether they are busy or not."""
    if not isinstance(plan, Plan):
        return set()
    return {
        line.id
        for each in plan.deployments
        for line in each.bill_of_materials
        if (each.hardware.terms or "").startswith("reserved")
    }


def _cost(sheet: _Sheet, plan: Plan | TrainingPlan, total: str, rent: str) -> None:
    """Write rates as they are, and what an hour and a token cost as formulas."""
    rates: Mapping[str, float | None] = plan.facts.rates if plan.facts else {}
    for name, title in _RATES.items():
        sheet.row(title, rates.get(name))
    hourly = plan.cost.usd_per_hour or 0.0
    per_million = plan.cost.usd_per_million_tokens or 0.0
    busy = hourly / per_million * units.TOKENS_PER_MILLION / units.SECONDS_PER_HOUR
    parts: dict[str, float] = {each.name: each.usd_per_hour for each in plan.cost.parts}
    racked = [each for each in plan.deployments if each.hardware.rack_units]
    watts = sum((each.evaluation.power_watts or 0.0) * each.units for each in racked)
    lines = [line for each in racked for line in each.bill_of_materials]
    in_racks = sum(line.price_usd or 0.0 for line in lines)
    sheet.row("Power, W", plan.power_watts or 0.0)
    sheet.row("Of it in racks, W", watts)
    sheet.row("Rack units", plan.totals.rack_units or 0.0)
    sheet.row("Tokens per second while busy", busy / (rates.get("duty") or 1.0))
    sheet.row("Purchase, USD", (f"={total}", plan.price_usd or 0.0), form=_USD)
    # What stands elsewhere is no part of the formula.
    formula = f"=B17-{plan.price_usd or 0.0}+{in_racks}"
    sheet.row("Of it in racks, USD", (formula, in_racks), form=_USD)
    hourly_of_monthly = f"{units.MONTHS_PER_YEAR}/{units.HOURS_PER_YEAR}"
    lent = "B12/((1+B12)^B2-1)*(1-B3)+B12-(1-B3)/B2"
    interest = lent if rates.get("wacc") else "0*B12"
    formulas = {
        "purchase": f"=B17*(1-B3)/(B2*{units.HOURS_PER_YEAR})",
        "financing": f"=B18*({interest})/{units.HOURS_PER_YEAR}",
        "electricity": f"=(B13+B14*(B6-1))/{units.WATTS_PER_KILOWATT}*B5*B4",
        "rack_space": f"=B15/B8*B7*{hourly_of_monthly}",
        "colocation": f"=B14/{units.WATTS_PER_KILOWATT}*B9*{hourly_of_monthly}",
        "support": f"=B18*B10/{units.HOURS_PER_YEAR}",
        "staff": f"=B15/B8*B11/{units.HOURS_PER_YEAR}",
        "rent": f"={rent}",
    }
    for name, formula in formulas.items():
        title = f"{name.replace('_', ' ').capitalize()}, USD/h"
        sheet.row(title, (formula, parts.get(name, 0.0)), form=_RATE)
    sheet.row("TCO, USD/h", ("=SUM(B19:B26)", hourly), form=_RATE)
    tokens = f"(B16*{units.SECONDS_PER_HOUR}*B5/{units.TOKENS_PER_MILLION})"
    sheet.row("A million tokens, USD", (f"=B27/{tokens}", per_million))
    years = hourly * (rates.get("years") or 0.0) * units.HOURS_PER_YEAR
    sheet.row(
        "TCO of all years, USD", (f"=B27*B2*{units.HOURS_PER_YEAR}", years), form=_USD
    )


def _periods(sheet: _Sheet, plan: FleetPlan) -> None:
    """Add a fleet up: what is owned, and the rent of all periods."""
    sheet.row("Owned, written off and run", plan.charge_usd or 0.0, form=_USD)
    last = len(plan.periods) + 1
    rent = (f"=SUM(Periods!C2:C{last})", plan.rent_usd or 0.0)
    sheet.row("Rent of all periods", rent, form=_USD)
    sheet.row("All of it", ("=B2+B3", plan.total_usd or 0.0), form=_USD)
