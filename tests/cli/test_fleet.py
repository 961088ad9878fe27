"""planopt fleet: a plan that verify takes, refusals, limits of time, interruption."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from forging import forged, other_than
from planopt.catalog.open import bundled_folder
from planopt.cli import main
from planopt.documents.fleet import FleetPlan
from planopt.errors import InputError
from planopt.fleets.plan import fleet as plan_fleet
from planopt.second_opinion import schema
from planopt_reference import verify_plan
from planopt_reference.fields import leaves, mark_of

# The reference is slow: its tests may take longer than others on a busy machine.
pytestmark = pytest.mark.timeout(600)

SMALL = Path(__file__).with_name("fleet_small.toml")
EXPERTS = Path(__file__).with_name("fleet_experts.toml")
TWO_TYPES = Path(__file__).with_name("fleet_two_types.toml")
WORKED = Path(__file__).parents[2] / "docs" / "how-to" / "fleet.toml"
FREE = frozenset({"seconds"})


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.fixture(scope="module")
def plan() -> FleetPlan:
    return plan_fleet(SMALL)


@pytest.fixture(scope="module")
def document(plan: FleetPlan) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(plan.to_json())
    return read


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in FREE}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def test_a_fleet_names_parts_and_models_as_people_do(
    plan: FleetPlan, tmp_path: Path
) -> None:
    text = SMALL.read_text(encoding="utf-8")
    for id_, name in (
        ("a100-sxm-80", "A100 80GB SXM"),
        ("h100-sxm", "H100"),
        ("llama-3.1-70b", "meta-llama/Llama-3.1-70B"),
    ):
        text = text.replace(f'"{id_}"', f'"{name}"')
    named = tmp_path / "fleet.toml"
    named.write_text(text, encoding="utf-8")
    told = plan_fleet(named)
    assert told.request == plan.request
    assert told.bill_of_materials == plan.bill_of_materials


def test_the_price_of_a_fleet_falls_with_what_is_owned_and_ends_at_nothing(
    tmp_path: Path,
) -> None:
    text = SMALL.read_text(encoding="utf-8")
    demands = text[: text.index("[[train]]")].replace("80 kW", "400 kW")
    demands = demands.replace("racks = 4", "racks = 20")
    bought = text[text.index("[[buy]]") : text.index("[[rent]]")]

    def owning(hosts: int) -> FleetPlan:
        of_type = '[[own]]\naccelerator = "h100-sxm"\nhost = "hgx-8"\nregion = "us"\n'
        own = f"{of_type}hosts = {hosts}\n" if hosts else ""
        asked = tmp_path / f"{hosts}.toml"
        asked.write_text(demands + own + bought, encoding="utf-8")
        return plan_fleet(asked)

    nothing = owning(0)
    (hosts,) = (
        line.quantity for line in nothing.bill_of_materials if line.kind == "host"
    )
    plans = [nothing, *(owning(number) for number in (1, 2, hosts))]
    prices = [plan.price_usd or 0.0 for plan in plans]
    assert {plan.status for plan in plans} == {"optimal"}
    assert prices == sorted(prices, reverse=True)
    # Each host that is there saves what one of them costs, and draws power as before.
    assert prices[0] - prices[1] == pytest.approx(prices[0] / hosts)
    assert prices[1] - prices[2] == pytest.approx(prices[0] / hosts)
    assert (prices[-1], plans[-1].bill_of_materials) == (0.0, ())
    assert len({plan.power_watts for plan in plans}) == 1
    document = json.loads(plans[2].to_json())
    assert verify_plan(document, bundled_folder()) == []


def test_a_base_is_owned_and_bought_and_peaks_are_rented(plan: FleetPlan) -> None:
    assert plan.status == "optimal"
    assert plan.gap == 0.0
    assert {each.way for each in plan.deployments} == {"own", "buy", "rent"}
    assert plan.total_usd == pytest.approx(
        (plan.charge_usd or 0) + (plan.rent_usd or 0)
    )
    rented = [rental for each in plan.deployments for rental in each.rentals]
    assert all(rental.hours < plan.request.period_hours for rental in rented)
    (training,) = plan.runs
    assert training.days <= 60


def test_what_is_left_after_a_failure_meets_the_demand(plan: FleetPlan) -> None:
    for stream in plan.streams:
        for demand, left in zip(stream.demand, stream.after_failures, strict=True):
            assert left >= demand * (1 - 1e-9)


def test_verify_takes_the_plan(document: dict[str, Any]) -> None:
    assert verify_plan(document, bundled_folder()) == []


def test_verify_takes_a_plan_of_a_model_with_experts() -> None:
    found = json.loads(plan_fleet(EXPERTS).to_json())
    assert found["deployments"]
    assert all(each["candidate"]["dp"] > 1 for each in found["deployments"])
    assert verify_plan(found, bundled_folder()) == []


def test_no_change_to_a_verified_field_passes(document: dict[str, Any]) -> None:
    verified = {
        re.sub(r"\d+", "", field): (field, value)
        for field, value in leaves(document)
        if mark_of(field) == "verified" and value is not None
    }
    assert len(verified) > 60
    for field, value in verified.values():
        changed = forged(document, field, other_than(value, by=0.01))
        assert verify_plan(changed, bundled_folder()), field


def with_failures(of: str, racks: str = "racks = 4") -> str:
    """The small fleet with failures of one kind in its region."""
    text = SMALL.read_text(encoding="utf-8")
    text = text.replace("failures = 1", f'failures = 1\nfailure = "{of}"')
    return text.replace("racks = 4", f"{racks}\nports_of_a_switch = 2")


def test_the_more_fails_at_once_the_more_it_costs(tmp_path: Path) -> None:
    costs = []
    for kind in ("replica", "host", "switch", "rack"):
        file = tmp_path / f"{kind}.toml"
        file.write_text(with_failures(kind), encoding="utf-8")
        found = plan_fleet(file, compare=False)
        assert verify_plan(json.loads(found.to_json()), bundled_folder()) == []
        assert found.total_usd is not None
        costs.append(found.total_usd)
    assert costs == sorted(costs)
    assert len(set(costs)) >= 3


def test_what_fits_a_rack_is_an_assumption(tmp_path: Path) -> None:
    stated = bundled_folder() / "assumptions" / "calibrated.toml"
    low = re.sub(
        r"rack_units = \{ value = \d+", "rack_units = { value = 8", stated.read_text()
    )
    assumptions = tmp_path / "calibrated.toml"
    assumptions.write_text(low, encoding="utf-8")
    file = tmp_path / "fleet.toml"
    file.write_text(with_failures("host", "racks = 5"), encoding="utf-8")
    usual = plan_fleet(file, compare=False)
    crowded = plan_fleet(file, compare=False, assumptions=str(assumptions))
    assert usual.total_usd is not None
    assert crowded.total_usd is None or crowded.total_usd > usual.total_usd


def test_the_same_file_has_the_same_plan_whatever_the_workers(
    document: dict[str, Any],
) -> None:
    for workers in (1, 2):
        again = json.loads(plan_fleet(SMALL, workers=workers).to_json())
        for key in ("deployments", "acquisitions", "total_usd", "total_bound_usd"):
            assert without_times(again[key]) == without_times(document[key])


def test_a_time_limit_keeps_the_best_plan(capsys: pytest.CaptureFixture[str]) -> None:
    code = run("fleet", str(WORKED), "--time-limit", "3s", "--no-compare", "--json")
    plan = json.loads(capsys.readouterr().out)
    assert code == 0
    assert plan["status"] == "feasible"
    assert plan["total_usd"] > 0
    if plan["total_bound_usd"] is not None:
        assert plan["total_bound_usd"] < plan["total_usd"]


def test_an_interrupted_search_shows_the_best_and_leaves_with_130() -> None:
    options = ("--time-limit", "60s", "--json", "--no-compare")
    process = subprocess.Popen(
        [sys.executable, "-m", "planopt.cli", "fleet", str(WORKED), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    told: list[str] = []
    while "$" not in "".join(told):
        told.append(process.stderr.readline())
        assert told[-1], "it ended before there was a plan"
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in errors
    found = float(re.findall(r"\$([\d,]+\.\d\d)", told[-1])[0].replace(",", ""))
    assert 0 < json.loads(out)["total_usd"] <= found


def test_a_fleet_is_shown_where_every_type_alone_would_do(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("fleet", str(TWO_TYPES), "--details") == 0

    shown = capsys.readouterr().out
    table = shown[shown.index("one type only") :]
    assert "a100-sxm-80" in table
    assert "h100-sxm" in table


def test_no_compare_plans_no_fleets_of_one_type(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("fleet", str(TWO_TYPES), "--no-compare", "--json") == 0

    said = capsys.readouterr()
    assert json.loads(said.out)["one_type"] == []
    assert "alone" not in said.err


def test_all_problems_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    text = SMALL.read_text(encoding="utf-8")
    text = text.replace('model = "llama-3.1-70b"', 'model = "llama-3.1-7b"')
    text = text.replace('class = "answers"', 'class = "answer"')
    text = text.replace('requests = "12/s"', 'requests = "12 GB"')
    text = text.replace("share = 0.75", "share = 0.70")
    text = text.replace("lambda/gpu_8x_h100_sxm5/us-east-1", "lambda/gpu_9x/us-east-1")
    text = text.replace('host = "hgx-8"\nstock', 'host = "hgx-9"\nstock')
    text = text.replace('power = "80 kW"', 'power = "80 kW"\ncolour = "blue"')
    bad = tmp_path / "fleet.toml"
    bad.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        plan_fleet(bad)
    places = [
        (each.line, each.column, each.field) for each in refused.value.diagnostics
    ]
    assert len(places) == 7
    assert all(line and column for line, column, _ in places)
    assert places == sorted(places, key=lambda place: (place[0], place[1]))


@pytest.mark.parametrize(
    ("enough", "short", "limit", "step"),
    [
        ('budget = "$3M"', 'budget = "$200k"', "budget", ("$", 1_000, "")),
        ('power = "80 kW"', 'power = "20 kW"', "power:us", ("", 1, " kW")),
    ],
)
def test_an_impossible_fleet_has_a_conflict_and_the_least_that_resolves_it(
    tmp_path: Path, enough: str, short: str, limit: str, step: tuple[str, int, str]
) -> None:
    text = SMALL.read_text(encoding="utf-8").replace("quota = 8", "quota = 0")
    ample = {'budget = "$3M"': 'budget = "$9M"', 'power = "80 kW"': 'power = "900 kW"'}
    for given, more in ample.items():
        text = text.replace(given, short if given == enough else more)
    file = tmp_path / "fleet.toml"

    def planned(said: str) -> FleetPlan:
        file.write_text(said, encoding="utf-8")
        return plan_fleet(file, compare=False)

    plan = planned(text)
    assert plan.status == "infeasible"
    assert plan.infeasibility is not None
    assert limit in [each.name for each in plan.infeasibility.binding]
    (change,) = [e for e in plan.infeasibility.nearest if limit in e.options]
    sign, size, unit = step
    least = float(re.sub(r"[^\d.]", "", change.options[limit]))
    key = short.partition(" = ")[0]
    assert (
        planned(text.replace(short, f'{key} = "{sign}{least:g}{unit}"')).total_usd
        is not None
    )
    less = f'{key} = "{sign}{least - size:g}{unit}"'
    assert planned(text.replace(short, less)).status == "infeasible"


def test_a_tariff_costs_its_mean_and_carbon_is_that_of_the_region(
    plan: FleetPlan, tmp_path: Path
) -> None:
    flat = 'electricity = "$0.08/kWh"'
    text = SMALL.read_text(encoding="utf-8")
    hours = ", ".join(["0.04"] * 12 + ["0.12"] * 12)
    file = tmp_path / "fleet.toml"
    file.write_text(
        text.replace(flat, f"electricity_by_hour = [{hours}]\ncarbon_kg_per_kwh = 0.1"),
        encoding="utf-8",
    )
    clean = plan_fleet(file, compare=False)
    assert clean.total_usd == plan.total_usd
    assert plan.kg_co2e is not None
    assert clean.kg_co2e == pytest.approx(plan.kg_co2e * 0.1 / 0.4235)
    twice = text.replace(flat, f"{flat}\nelectricity_by_hour = [{hours}]")
    for bad in (twice, text.replace(flat, "electricity_by_hour = [0.1, 0.2]")):
        file.write_text(bad, encoding="utf-8")
        with pytest.raises(InputError) as refused:
            plan_fleet(file)
        (problem,) = refused.value.diagnostics
        assert problem.field is not None
        assert "electricity_by_hour" in problem.field
        assert problem.line


def test_what_a_fleet_sells_pays_for_it(plan: FleetPlan) -> None:
    sold = plan_fleet(SMALL, compare=False, sell="in=$1.20,out=$3.60/Mtok")
    assert sold.total_usd == plan.total_usd
    assert sold.sell is not None
    assert sold.total_usd is not None
    of, hours = sold.sell, sold.request.periods * sold.request.period_hours
    # Three periods that grow by a half; the office's week, of 168 hours at the peak.
    requests = 3600 * 12 * (1 + 1.5 + 2.25) / 3 * (5 * 12.5 + 2 * 24 * 0.2) / 168
    short, long = (1.2 * 1024 + 3.6 * 256) / 1e6, (1.2 * 8192 + 3.6 * 512) / 1e6
    assert of.revenue_usd_per_hour == pytest.approx(
        requests * (0.75 * short + 0.25 * long)
    )
    spent = sold.total_usd / hours
    assert of.margin_usd_per_hour == pytest.approx(of.revenue_usd_per_hour - spent)
    assert of.break_even_utilisation == pytest.approx(spent / of.revenue_usd_per_hour)
    assert of.payback_days is not None
    document = json.loads(sold.to_json())
    assert verify_plan(document, bundled_folder()) == []
    for name in document["sell"]:
        changed = {**document, "sell": {**document["sell"], name: 1.0}}
        told = verify_plan(changed, bundled_folder())
        assert [each.field for each in told] == [f"sell.{name}"]


def test_hardware_that_keeps_a_part_of_its_worth_is_paid_back(tmp_path: Path) -> None:
    file = bundled_folder() / "assumptions" / "calibrated.toml"
    text = file.read_text(encoding="utf-8")
    kept = tmp_path / "calibrated.toml"
    kept.write_text(
        text.replace("residual = { value = 0.0", "residual = { value = 0.4")
    )
    prices, assumptions = "in=$1.20,out=$3.60/Mtok", str(kept)
    sold = plan_fleet(SMALL, compare=False, sell=prices, assumptions=assumptions)
    assert sold.sell is not None
    assert sold.sell.payback_days is not None
    assert verify_plan(json.loads(sold.to_json()), bundled_folder()) == []


def test_the_plan_is_what_its_schema_says(document: dict[str, Any]) -> None:
    published = schema(FleetPlan)
    jsonschema.Draft202012Validator.check_schema(published)
    validator = jsonschema.Draft202012Validator(published)
    assert validator.is_valid(document)
    assert not validator.is_valid({**document, "periods": "six"})
    marks = published["properties"]["total_usd"]["x-planopt"]
    assert marks == "verified"


def test_an_impossible_limit_of_time_is_refused() -> None:
    assert run("fleet", str(SMALL), "--time-limit", "0s") == 2


def test_the_worked_fleet_is_cheaper_mixed_than_of_one_type() -> None:
    plan = plan_fleet(WORKED, workers=2, time_limit="20s")
    alone = {each.accelerator: each for each in plan.one_type}
    assert alone.keys() == {"h100-sxm", "l40s", "rtx-4090"}
    assert plan.total_usd is not None
    assert plan.total_bound_usd is not None
    for each in alone.values():
        # Each is a fleet that costs more, or there is a reason why there is none.
        assert (each.total_usd is None) == (each.why is not None)
        if each.total_usd is not None:
            assert each.total_usd > plan.total_usd
            assert each.more_usd == pytest.approx(each.total_usd - plan.total_usd)
    # Proven: no fleet of one type costs as little.
    least = alone["h100-sxm"].total_bound_usd
    assert least is not None
    assert least > plan.total_usd
    assert plan.gap is not None
    assert plan.gap < 0.05
    assert plan.total_bound_usd <= plan.total_usd
    ways = {each.way for each in plan.deployments}
    assert ways == {"own", "buy", "rent"}
