"""``python -m planopt_studies.homes``: the article's last chapter, run.

How many neighbours serve a 70B at five tokens a second, how much of the time and for
how much, and what homes cost that train a 7B and a 70B, beside eight rented H100.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import planopt
from planopt.files import write
from planopt.report.first import hardware
from planopt.report.homes import share_of_time
from planopt.report.money import money
from planopt.report.numbers import days

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SERVED: Final = (
    ("8xrtx-4090,ethernet-10g", None),
    ("16xrtx-4090,ethernet-10g", None),
    ("16xrtx-4090,wan-1g", None),
    ("16xrtx-3090,wan-100m", None),
    ("8xrtx-5090,wan-1g", None),
    ("3xrtx-3090,wan-100m", "int4"),
    ("8xrtx-3090,wan-100m", "int4"),
    ("32xrtx-3090,wan-100m", "int4"),
    ("32xrtx-4090,wan-1g", "int4"),
)
"""Machines and their lines, and a format of the weights other than the published."""
H100: Final = "lambda/gpu_8x_h100_sxm5/us-east-1"
STAY: Final = {"lifetime": "30d", "away": "1h"}
"""Homes whose machines stay."""
TRAINED: Final[Sequence[tuple[str, str, str, dict[str, Any]]]] = (
    ("llama-2-7b", "140B", "100xrtx-4090", {}),
    ("llama-2-7b", "140B", "100xrtx-4090,wan-1g", STAY),
    ("llama-2-7b", "140B", f"1x{H100}", {}),
    ("llama-2-70b", "1.4T", "100xrtx-4090,wan-1g", STAY),
    ("llama-2-70b", "1.4T", "400xrtx-5090,wan-1g", STAY),
    ("llama-2-70b", "1.4T", "400xrtx-pro-6000,wan-1g", STAY),
    ("llama-2-70b", "1.4T", f"1x{H100}", {}),
)
"""Model, twenty tokens a parameter, machines, and how their homes are."""
LARGE: Final = ("llama-2-70b", "1.4T")
"""What eight H100 do not hold: how many rented ones do is asked, too."""
TARGET: Final = "5tok/s"
PAGE: Final = Path("docs/explanation/homes.md")


def serving() -> Iterator[str]:
    """Ask who serves a 70B at five tokens a second."""
    yield "| neighbours | weights | stages | users | tok/s | whole | $/Mtok | power |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for neighbours, weights in SERVED:
        plan = planopt.serve_neighbours(
            neighbours=neighbours,
            model="llama-3.1-70b",
            target=TARGET,
            weights=weights,
        )
        told = ["", "does not fit", "", "", "", ""]
        if (best := plan.best) is not None:
            told = [
                f"{best.in_flight}",
                f"{best.users:.0f}",
                f"{best.tokens_per_second_per_user_served:.2f}",
                share_of_time(best.availability),
                money(best.usd_per_million_tokens),
                money(best.energy_usd_per_million_tokens),
            ]
        elif (slow := plan.nearest) is not None:
            speed = f"too slow: {slow.tokens_per_second_per_user_served:.2f}"
            told = [f"{slow.in_flight}", "", speed, "", "", ""]
        yield f"| `{neighbours}` | {plan.weights} | {' | '.join(told)} |"


def training() -> Iterator[str]:
    """Ask what a 7B and a 70B take on machines in homes, and on eight rented H100."""
    yield "| model | tokens | machines | stay | islands | H | days | cost | power |"
    yield "|---|---:|---|---:|---|---:|---:|---:|---:|"
    for model, tokens, islands, stay in TRAINED:
        plan = planopt.train_islands(
            model=model, tokens=tokens, islands=islands, **stay
        )
        told = ["", "", "does not fit", "", ""]
        if (run := plan.best) is not None:
            (kind,) = run.islands
            told = [
                f"{kind.islands} of {kind.machines}",
                f"{run.inner_steps}",
                days(run.days),
                money(run.usd, whole=True),
                money(run.energy_usd, whole=True) if run.energy_usd else "",
            ]
        usual = "rented" if H100 in islands else "10h"
        kept = stay.get("lifetime", usual)
        yield f"| {model} | {tokens} | `{islands}` | {kept} | {' | '.join(told)} |"
    yield rented(*LARGE)


def rented(model: str, tokens: str) -> str:
    """Ask how many rented H100 hold a model, and what they take."""
    plan = planopt.train(
        model,
        tokens=tokens,
        deadline="3650d",
        accelerators="h100-sxm",
        procurement="rent",
        max_accelerators=64,
    )
    does = plan.deployments[0].evaluation
    what = hardware(plan.bill_of_materials)
    told = ["rented", "", "", days(does.days), money(does.run.usd, whole=True), ""]
    return f"| {model} | {tokens} | {what} | {' | '.join(told)} |"


TABLES: Final[dict[str, Callable[[], Iterator[str]]]] = {
    "serving": serving,
    "training": training,
}


def main() -> None:
    """Write the tables into their page."""
    text = PAGE.read_text(encoding="utf-8")
    for name, rows in TABLES.items():
        begin, end = f"<!-- {name}: make homes -->", f"<!-- end of {name} -->"
        before, after = text.split(begin)[0], text.split(end)[1]
        table = "\n".join(rows())
        print(table, file=sys.stderr)
        text = f"{before}{begin}\n{table}\n{end}{after}"
    write(PAGE, text)


if __name__ == "__main__":
    main()
