"""Renting: the cheapest way, its terms, owning beside it, and what is refused."""

from __future__ import annotations

import csv
import json
import math
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.catalog.open import open_catalog
from planopt.cli import main
from planopt.errors import InputError
from planopt.report.plan import render_plan

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.documents.plan import Plan

RENTED: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "target": "10tok/s",
    "load": "steady",
}


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert isinstance(left.value.code, int)
    return left.value.code


def solve(**options: Any) -> Plan:
    return planopt.solve(**RENTED, top=1, **options)


def hourly(plan: Plan) -> float:
    assert plan.cost.usd_per_hour is not None
    return plan.cost.usd_per_hour


def test_rent_is_paid_by_the_hour_and_buys_nothing() -> None:
    plan = solve(acquire="rent")
    (line,) = plan.bill_of_materials
    assert (plan.status, plan.price_usd, plan.power_watts) == ("optimal", 0.0, None)
    assert line.kind == "instance"
    assert line.unit_price_usd is None
    assert line.usd_per_hour == hourly(plan)
    assert plan.bound_usd_per_hour == pytest.approx(hourly(plan), rel=1e-5)


def test_no_single_offer_is_cheaper() -> None:
    """Ask for each provider alone: none beats all of them together."""
    best = hourly(solve(acquire="rent"))
    alone = [hourly(solve(acquire="rent", provider=name)) for name in ("aws", "gcp")]
    assert min(alone) >= best


def classed(plan: Plan) -> str:
    """Say who answers for the machines of a plan."""
    (each,) = plan.deployments
    assert each.hardware.host is not None
    provider, catalog = each.hardware.host.partition("/")[0], open_catalog()
    for shown in (each.hardware.host, provider):
        for figure in catalog.show("offers", shown).figures:
            if figure.field == "class":
                return figure.text
    raise AssertionError(provider)


MARKETPLACE = "rtx-3090"
"""What marketplaces rent out for less than clouds do."""


@pytest.mark.parametrize("load", [None, "steady"])
def test_a_marketplace_is_taken_only_by_who_asks_for_it(load: str | None) -> None:
    """An 8B with a promise at p95 was on a machine of Vast.ai, without a word."""
    asked: dict[str, Any] = {"model": "llama-3.1-8b", "target": "20tok/s", "top": 1}
    asked |= {"accelerators": MARKETPLACE, "procurement": "rent", "load": load}
    usual = planopt.solve(**asked)
    anybody = planopt.solve(**asked, provider_class="any")
    named = planopt.solve(**asked, provider="vast")
    assert (classed(usual), classed(anybody)) == ("cloud", "marketplace")
    assert hourly(anybody) < hourly(usual)
    assert named.deployments[0].hardware == anybody.deployments[0].hardware
    assert named.request.provider_classes == ("hyperscaler", "cloud", "marketplace")
    (left,) = (each for each in usual.not_considered if each.what == "offers")
    assert (left.why, left.help) == ("marketplace machines", "--provider-class any")
    assert "vast" in left.names
    assert not any(each.what == "offers" for each in anybody.not_considered)


def test_a_community_machine_is_one_of_a_marketplace() -> None:
    """A provider's own class is that of the offers that do not say otherwise."""
    host = f"runpod/1x_{MARKETPLACE.upper()}_COMMUNITY/any"
    assert classed(solve(acquire="rent", host=host)) == "marketplace"
    by_name = solve(acquire="rent", provider="runpod", accelerators=MARKETPLACE)
    assert classed(by_name) == "cloud"


def test_what_marketplaces_alone_rent_out_is_proposed() -> None:
    plan = solve(acquire="rent", accelerators="rtx-4080", weights="int4")
    assert plan.infeasibility is not None
    proposed = [each.options for each in plan.infeasibility.nearest]
    assert {"provider_class": "any"} in proposed


def test_a_machine_of_another_class_than_asked_for_is_not_verified(
    tmp_path: Path,
) -> None:
    document = json.loads(solve(acquire="rent", provider="vast").to_json())
    file = tmp_path / "plan.json"
    for classes, exit_status in ((["marketplace"], 0), (["cloud"], 1)):
        document["request"]["provider_classes"] = classes
        file.write_text(json.dumps(document), encoding="utf-8")
        assert run("verify", str(file)) == exit_status


def test_more_terms_never_cost_more() -> None:
    on_demand = hourly(solve(acquire="rent", provider="gcp"))
    spot = solve(acquire="rent", provider="gcp", terms="on-demand,spot")
    assert hourly(spot) < on_demand
    deployment = spot.deployments[0]
    assert deployment.hardware.terms == "spot"
    goodput = deployment.hardware.goodput
    assert goodput is not None
    assert goodput == pytest.approx(24 / (24 + 1 / 6))
    at_work = deployment.evaluation.decode.tokens_per_second
    assert at_work is not None
    assert spot.cost.usd_per_million_tokens == pytest.approx(
        hourly(spot) / (at_work * deployment.replicas * goodput * 3600 / 1e6)
    )
    assert "W009" in {warning.code for warning in spot.warnings}


def test_both_is_no_dearer_than_either() -> None:
    both = solve(acquire="both")
    rented = solve(acquire="rent")
    assert both.rent_or_buy is not None
    assert rented.rent_or_buy is not None
    assert both.rent_or_buy.buy is not None
    assert hourly(both) <= min(hourly(rented), both.rent_or_buy.buy.usd_per_hour)
    assert rented.rent_or_buy.buy == both.rent_or_buy.buy


def test_hosted_tokens_cost_what_others_ask_for_this_model_and_its_prompts() -> None:
    figures = {
        each.field: each
        for each in open_catalog().show("models", "llama-3.1-8b").figures
    }
    output, prompt = figures["hosted.output"], figures["hosted.input"]
    plan = solve(acquire="rent", prompt=3000, output=1000)
    ways = plan.rent_or_buy
    assert ways is not None
    assert ways.hosted_usd_per_million_tokens == pytest.approx(
        float(output.text.strip("$")) + 3 * float(prompt.text.strip("$"))
    )
    assert output.low_usd is not None
    assert prompt.low_usd is not None
    assert output.high_usd is not None
    assert prompt.high_usd is not None
    assert ways.hosted_low_usd == output.low_usd + 3 * prompt.low_usd
    assert ways.hosted_high_usd == output.high_usd + 3 * prompt.high_usd
    assert ways.hosted_source == output.cite
    assert ways.hosted_date == "2026-11"
    shown = " ".join(str(render_plan(plan, details=True)).split())
    assert "tokens of this model from others, with their prompts: $0.1" in shown


def test_a_model_that_nobody_asks_for_has_the_price_of_the_assumptions() -> None:
    plan = planopt.solve(model="bloom-176b", procurement="rent", target="1tok/s", top=1)
    ways = plan.rent_or_buy
    assert ways is not None
    assert ways.hosted_usd_per_million_tokens == 2.0
    assert ways.hosted_low_usd is None
    assert ways.hosted_date == "2023-09"
    assert "seed article" in str(ways.hosted_source)
    shown = " ".join(str(render_plan(plan, details=True)).split())
    assert "hosted API prices, of whichever model (2023-09)" in shown


def test_hosted_prices_lie_within_what_providers_ask(shared: Path) -> None:
    with (shared / "catalog-facts" / "hosted_prices.csv").open(
        encoding="utf-8"
    ) as file:
        rows = [row for row in csv.DictReader(file) if row["input_usd_per_mtok"]]
    catalog = open_catalog()
    told = 0
    for model in (each.id for each in catalog.list("models")):
        shown = catalog.show("models", model).figures
        figures = {each.field: each for each in shown}
        for key in ("input", "output"):
            figure = figures.get(f"hosted.{key}")
            if figure is None:
                continue
            told += 1
            name = f"{key}_usd_per_mtok"
            asked = [float(row[name]) for row in rows if row["model"] == model]
            usd = float(figure.text.strip("$"))
            assert figure.low_usd is not None
            assert figure.high_usd is not None
            assert min(asked) <= figure.low_usd * (1 + 1e-3)
            assert max(asked) >= figure.high_usd * (1 - 1e-3)
            assert figure.low_usd <= usd <= figure.high_usd
    assert told == 2 * 43


def test_owning_breaks_even_on_the_day_that_it_says() -> None:
    ways = solve(acquire="both", regained="100%").rent_or_buy
    assert ways is not None
    assert ways.rent is not None
    assert ways.buy is not None
    assert ways.break_even_days is not None
    hours = 24 * ways.break_even_days
    written_off = ways.buy.price_usd / (ways.years * 8760)
    owned = ways.buy.price_usd + hours * (ways.buy.usd_per_hour - written_off)
    assert owned == pytest.approx(hours * ways.rent.usd_per_hour)
    assert ways.break_even_duty is not None
    assert 0 < ways.break_even_duty < 1


def test_rents_that_fall_put_it_off_or_away() -> None:
    ways = solve(acquire="both", regained="100%").rent_or_buy
    falling = solve(acquire="both", regained="100%", price_drift="20%").rent_or_buy
    gone = solve(acquire="both", regained="100%", price_drift="80%").rent_or_buy

    assert ways is not None
    assert falling is not None
    assert gone is not None
    assert falling.rent == ways.rent
    assert falling.buy is not None
    assert ways.rent is not None
    days = falling.break_even_days or 0.0
    assert days > (ways.break_even_days or 0.0)
    fall = -math.log(0.8) / 365
    rent = 24 * ways.rent.usd_per_hour * (1 - math.exp(-fall * days)) / fall
    written_off = falling.buy.price_usd / (falling.years * 8760)
    running = 24 * days * (falling.buy.usd_per_hour - written_off)
    assert falling.buy.price_usd + running == pytest.approx(rent)
    assert gone.break_even_days is None


def test_stock_and_purchase_money_send_the_rest_to_the_cloud() -> None:
    options: dict[str, Any] = {
        "throughput": "40000tok/s",
        "accelerators": "rtx-4090,h100-sxm",
        "acquire": "both",
        "provider_class": "any",
    }
    free = solve(**options)
    held = solve(**options, stock="rtx-4090=4", budget=12_000)
    assert held.price_usd is not None
    assert 0 < held.price_usd <= 12_000
    assert {line.kind for line in held.bill_of_materials} >= {"accelerator", "instance"}
    assert hourly(held) >= hourly(free)


@pytest.mark.parametrize("limit", [{"max_power": "2kW"}, {"budget": "$20000"}])
def test_power_and_purchase_money_do_not_limit_what_is_rented(
    limit: dict[str, str],
) -> None:
    with pytest.raises(InputError, match="nothing limits what is rented"):
        solve(acquire="both", objective="throughput", **limit)


def test_a_budget_per_month_is_one_per_hour() -> None:
    by_month = solve(acquire="rent", objective="throughput", budget="$7300/month")
    by_hour = solve(acquire="rent", objective="throughput", budget="10/h")
    assert by_month.bill_of_materials == by_hour.bill_of_materials
    assert hourly(by_hour) <= 10


def test_too_small_a_budget_names_the_one_that_would_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ("--target", "5tok/s", "--procurement", "rent")
    assert run("solve", *asked, "--budget", "0.50/h", "--json") == 1
    why = json.loads(capsys.readouterr().out)["infeasibility"]
    assert [limit["name"] for limit in why["binding"]] == ["budget", "model"]
    budget = why["nearest"][0]["options"]["budget"]
    assert run("solve", *asked, "--budget", budget, "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["cost"]["usd_per_hour"] <= float(budget.removesuffix("/h"))
    assert math.isclose(plan["cost"]["usd_per_hour"], why["nearest"][0]["usd_per_hour"])


@pytest.mark.parametrize("option", ["billing", "provider", "regained"])
def test_what_is_about_renting_is_refused_where_all_is_bought(option: str) -> None:
    value = {"billing": "spot", "provider": "aws", "regained": "60%"}[option]
    asked: dict[str, Any] = {"model": "llama-3.1-8b", option: value}
    with pytest.raises(InputError, match="is about renting") as refused:
        planopt.frontier(**asked)
    assert [each.field for each in refused.value.diagnostics] == [f"--{option}"]


def test_the_screen_shows_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    both = ("solve", "--target", "5tok/s", "--procurement", "both")
    assert run(*both) == 0
    assert "break-even after" in capsys.readouterr().out
    assert run(*both, "--details") == 0
    shown = capsys.readouterr().out
    assert "Rent or buy" in shown
    assert "break-even after" in shown
    assert "tokens of this model from others" in shown


def test_idle_hours_on_demand_are_paid_unless_machines_are_had_again() -> None:
    """A quarter of the hours was a quarter of the rent, as if that were certain."""
    asked = [{}, {"duty": "25%"}, {"duty": "25%", "regained": "60%"}]
    full, held, partly = (solve(acquire="rent", **each) for each in asked)
    hourly = full.cost.usd_per_hour or 0.0
    assert held.cost.usd_per_hour == pytest.approx(hourly)
    assert partly.cost.usd_per_hour == pytest.approx(hourly * (1 - 0.6 * 0.75))
    tokens = [each.cost.usd_per_million_tokens or 0.0 for each in (full, held)]
    assert tokens[1] == pytest.approx(4 * tokens[0])
    for each in (held, partly):
        assert not planopt.verify(each).mismatches
    assert held.rent_or_buy is not None
    assert held.rent_or_buy.break_even_duty is None


def test_a_machine_that_is_idle_is_better_rented() -> None:
    """Owning pays in every hour, renting in busy ones alone where it goes back."""
    busy = solve(acquire="both", regained="100%").rent_or_buy
    idle = solve(acquire="both", regained="100%", duty="5%").rent_or_buy
    assert busy is not None
    assert idle is not None
    assert busy.rent is not None
    assert idle.rent is not None
    assert idle.rent.usd_per_hour < busy.rent.usd_per_hour
    assert idle.break_even_days is None or busy.break_even_days is not None
    assert (idle.break_even_days or 1e9) > (busy.break_even_days or 1e9)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--billing", "spot"), "E004", "--procurement rent"),
        (
            ("--procurement", "rent", "--billing", "sport"),
            "E001",
            "did you mean `spot`",
        ),
        (("--procurement", "rent", "--provider", "awz"), "E001", "did you mean `aws`"),
        (("--procurement", "rent", "--region", "us-eats-1"), "E001", "us-east-1"),
        (("--procurement", "rent", "--budget", "20000"), "E004", "12/h"),
        (
            ("--procurement", "rent", "--host", "aws/p5.48xlarge/moon"),
            "E001",
            "p5.48xlarge",
        ),
        (("--budget", "12/h"), "E004", "--procurement rent"),
        (("--duty", "150%"), "E003", "--duty"),
        (("--electricity", "0.12"), "E002", "$0.10/kWh"),
    ],
)
def test_what_does_not_go_together_is_refused(
    options: tuple[str, ...],
    code: str,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("solve", "--target", "5tok/s", *options) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"error[{code}]" in shown.err
    assert said in shown.err


def test_compare_and_frontier_take_rent(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--target", "5tok/s", "--procurement", "rent")
    assert run("compare", "--accelerators", "rtx-4090,h100-sxm", *asked) == 0
    assert "/h" in capsys.readouterr().out
    table = planopt.frontier(**RENTED, procurement="rent", accelerators=["h100-sxm"])
    rows = table.to_dicts()
    assert rows
    assert all(row["terms"] == "on-demand" for row in rows)
    assert all(row["price_usd"] == 0 for row in rows)
