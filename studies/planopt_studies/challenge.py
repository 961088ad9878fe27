"""``python -m planopt_studies.challenge``: the cheapest dollar for a speed, as a table.

Three models, three speeds, bought and rented, all hardware that can be had: what each
answer is, what it costs, and whether it is proven.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import planopt
from planopt.files import write
from planopt.report.first import hardware, paid

if TYPE_CHECKING:
    from planopt.documents.plan import Plan

MODELS: Final = {"llama-3.1-8b": None, "llama-3.3-70b": "fp8", "deepseek-v3": "fp8"}
"""Small, middle, large; in which format, where it is not the published one."""
SPEEDS: Final = (5, 20, 50)
"""Tokens per second of each of eight users, at the 95th percentile."""
WAYS: Final = ("buy", "rent")
SECONDS: Final = 60
PAGE: Final = Path("docs/explanation/challenge.md")
_BEGIN = "<!-- challenge: python -m planopt_studies.challenge -->"
_END = "<!-- end of challenge -->"


def asked(model: str, speed: int, way: str) -> Plan:
    """Ask for the cheapest for eight users, with the time that a proof may need."""
    return planopt.solve(
        model,
        weights=MODELS[model],
        target=f"{speed}tok/s",
        procurement=way,
        time_limit=SECONDS,
    )


def cell(plan: Plan) -> str:
    """Say what is bought or rented, for how much, and how sure that is."""
    if not plan.deployments:
        return "none"
    grade = plan.evidence.grade if plan.evidence else "none"
    proof = "" if plan.status == "optimal" else ", not proven"
    what = hardware(plan.bill_of_materials, hosts=False)
    return f"{what}: **{paid(plan)}**, evidence {grade}{proof}"


def rows() -> list[str]:
    """Answer all questions."""
    lines = ["| model | tok/s | bought | rented |", "|---|---:|---|---|"]
    for model, weights in MODELS.items():
        named = f"{model}, {weights}" if weights else model
        for speed in SPEEDS:
            told = [cell(asked(model, speed, way)) for way in WAYS]
            lines.append(f"| {named} | {speed} | {told[0]} | {told[1]} |")
            print(lines[-1], file=sys.stderr)
    return lines


def main() -> None:
    """Write the table into its page."""
    text = PAGE.read_text(encoding="utf-8")
    before, after = text.split(_BEGIN)[0], text.split(_END)[1]
    table = "\n".join(rows())
    write(PAGE, f"{before}{_BEGIN}\n{table}\n{_END}{after}")


if __name__ == "__main__":
    main()
