"""What stands in racks is bought with: lines of the bill, each with its source."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

import planopt
from planopt.catalog.open import open_catalog

if TYPE_CHECKING:
    from planopt.documents.plan import Plan

QUESTION: dict[str, Any] = {
    "model": "llama-3.1-70b",
    "target": "20tok/s",
    "concurrency": 64,
    "accelerators": ["h100-sxm"],
    "datacenter": True,
    "load": "steady",
}
LINES = ("front_end", "management", "storage", "racks", "freight", "spares")


@cache
def usual() -> Plan:
    return asked()


def asked(**otherwise: Any) -> Plan:
    plan = planopt.solve(**{**QUESTION, **otherwise})
    assert plan.status == "optimal"
    return plan


def by_kind(plan: Plan) -> dict[str, float]:
    return {line.kind: line.price_usd or 0.0 for line in plan.bill_of_materials}


def test_a_host_in_a_rack_pays_for_what_it_needs_there() -> None:
    plan = usual()
    paid = by_kind(plan)
    parts = paid["accelerator"] + paid["host"]
    # Four H100 at $31,904.50 in a host of 4 units that draws 1,100 W without them.
    host = {
        each.field: each.text for each in open_catalog().show("hosts", "hgx-4").figures
    }
    watts = float(host["power"].split()[0]) + 4 * 700
    share = max(float(host["rack_units"]) / 42, watts / 40_000)
    assert paid["front_end"] == 4 * 217
    assert paid["management"] == 50
    assert paid["racks"] == pytest.approx(4250 * share, abs=1e-6)
    assert paid["freight"] == pytest.approx(0.035 * parts, abs=1e-5)
    assert paid["spares"] == pytest.approx(0.011 * parts, abs=1e-5)
    assert math.isclose(plan.price_usd or 0.0, sum(paid.values()))
    assert plan.bound_usd == plan.price_usd
    # Those who serve keep what they need in the host: no line, and none left out.
    assert "storage" not in paid
    assert "storage of a run" not in plan.cost.left_out


@pytest.mark.parametrize("line", [each for each in LINES if each != "storage"])
def test_each_line_is_off_or_another(line: str) -> None:
    whole, less = usual(), asked(cost_line={line: "off"})
    assert line not in by_kind(less)
    saved = (whole.price_usd or 0.0) - (less.price_usd or 0.0)
    assert saved == pytest.approx(by_kind(whole)[line])
    other = asked(cost_line={line: 0.02})
    assert planopt.verify(other)


def test_no_line_is_nothing_without_a_source() -> None:
    catalog = open_catalog()
    sources = {
        figure.field: figure.cite
        for figure in catalog.show("assumptions", catalog.assumptions).figures
    }
    for line in (*LINES, "rack_kilowatts", "colocation", "support", "wacc", "pue"):
        assert sources[f"cost.{line}"], line
    for bought in usual().bill_of_materials:
        assert bought.source, bought.name


def test_a_desktop_has_none_of_them() -> None:
    plan = planopt.solve(target="5tok/s", budget=20_000, load="steady")
    assert not set(by_kind(plan)) & set(LINES)


def test_what_is_there_already_is_not_carried_again() -> None:
    plan = asked(own="4xh100-sxm,hgx-4")
    assert plan.price_usd == 0
    assert {line.kind for line in plan.bill_of_materials} == {"accelerator", "host"}


def test_lines_decide_what_is_bought() -> None:
    """Cards in a server need a rack; in desktops they do not."""
    question: dict[str, Any] = {
        "model": "qwen2.5-32b",
        "target": "30tok/s",
        "concurrency": 8,
    }
    question |= {"load": "steady", "accelerators": ["rx-7900-xtx"]}
    question |= {"host": ["desktop", "pcie-4gpu"]}
    hosts = [
        plan.deployments[0].hardware.host
        for plan in (
            planopt.solve(**question),
            planopt.solve(**question, cost_line=dict.fromkeys(LINES, "off")),
        )
    ]
    assert hosts[0] != hosts[1]


def run(**otherwise: Any) -> planopt.TrainingPlan:
    return planopt.train(
        model="llama-3.1-70b",
        tokens="300B",
        deadline="56d",
        accelerators=["h100-sxm"],
        host="hgx-8",
        network="infiniband-400g",
        max_accelerators=64,
        redundancy=0,
        **otherwise,
    )


def test_64_h100_cost_an_hour_what_others_say_they_do() -> None:
    """SemiAnalysis, 2026-05: $1.30 an hour at a hyperscaler, $1.69 at a neocloud."""
    plan = run()
    quantities = {line.kind: line.quantity for line in plan.bill_of_materials}
    assert quantities["accelerator"] == 64
    assert quantities["host"] == quantities["management"] == 8
    assert quantities["storage"] == quantities["front_end"] == 64
    assert set(LINES) <= set(quantities)
    assert planopt.verify(plan)
    *lines, last = plan.bill_of_materials
    cheaper = replace(last, price_usd=(last.price_usd or 0.0) - 1)
    forged = replace(
        plan, bill_of_materials=type(plan.bill_of_materials)([*lines, cheaper])
    )
    assert not planopt.verify(forged)
    # Theirs are written off over more years, and have no contract of support.
    hourly = run(years=5, cost_line={"support": "off"}).cost.usd_per_hour or 0.0
    assert 1.30 < hourly / 64 < 1.2 * 1.69


def test_spare_hosts_come_beside_the_accelerators_that_are_asked_for() -> None:
    plan = planopt.train(
        model="llama-3.1-70b",
        tokens="300B",
        deadline="56d",
        accelerators=["h100-sxm"],
        host="hgx-8",
        max_accelerators=64,
        redundancy=1,
    )
    (run,) = plan.deployments
    assert run.evaluation.accelerators == 64
    bought = {line.kind: line.quantity for line in plan.bill_of_materials}
    assert (bought["accelerator"], bought["host"]) == (72, 9)
    assert planopt.verify(plan)
