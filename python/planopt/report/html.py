"""A plan in a notebook: its headline and its bill of materials."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from planopt.report.numbers import count, money
from planopt.report.parts import deployment_line, purchase, speed

if TYPE_CHECKING:
    from planopt.plan import Plan

__all__ = ["plan_table"]


def plan_table(plan: Plan) -> str:
    """Write the plan as one HTML table."""
    if plan.status == "infeasible":
        binding = plan.infeasibility.binding if plan.infeasibility else ()
        conflict = " and ".join(f"{limit.name} {limit.value}" for limit in binding)
        return f"<p><b>No plan meets these limits</b>: {escape(conflict)}</p>"
    told = [
        f"{deployment_line(each)}: {speed(each.evaluation)}"
        for each in plan.deployments
    ]
    rows = "".join(
        f"<tr><td>{escape(line.name)}</td><td>{count(line.quantity)}</td>"
        f"<td>{money(line.unit_price_usd)}</td><td>{money(line.price_usd)}</td></tr>"
        for line in plan.bill_of_materials
    )
    return (
        f"<p><b>{escape(purchase(plan.bill_of_materials))}</b><br>"
        f"{'<br>'.join(map(escape, told))}</p>"
        "<table><thead><tr><th>part</th><th>quantity</th><th>each</th><th>total</th>"
        f"</tr></thead><tbody>{rows}<tr><td>purchase</td><td></td><td></td>"
        f"<td>{money(plan.price_usd)}</td></tr></tbody></table>"
    )
