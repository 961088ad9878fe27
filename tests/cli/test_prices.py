"""What parts cost: new or used, at somebody's own price, and how old prices are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.catalog.open import bundled_folder
from planopt.cli import main
from planopt.documents.parts import BomLine
from planopt.errors import InputError
from planopt.money import AROUND
from planopt.price_sources import apart, dollars, is_rough, oldest_price
from planopt.report.plan import render_plan
from planopt_reference import verify_plan

if TYPE_CHECKING:
    from pathlib import Path

# Today, for everything here: 2026-11-22.
EPOCH = "1795305600"

CARD = """
id = "card"
name = "Card"
vendor = "NVIDIA"
family = "ada"
year = 2022
form_factor = "pcie"
datacenter_licence = true
peer_to_peer = "no"
unified_memory = false
memory = "24 GiB"
memory_bandwidth = "1008 GB/s"
power = "450 W"
slots = 3
price = {{ value = "$900", low = "$800", high = "$1000", source = "shop" }}
price_used = {{ value = "$500", source = "memory" }}
{on_sale}

[peak]
bf16 = "165 TFLOPS"

[pcie]
generation = 4
lanes = 16

[sources.shop]
cite = "a shop"
date = "2026-10-01"
status = "stored"

[sources.memory]
cite = "as remembered"
date = "2026-10-02"
status = "from-memory"
"""


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", EPOCH)


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    return with_card(tmp_path, "")


def with_card(folder: Path, on_sale: str) -> Path:
    (folder / "accelerators").mkdir(exist_ok=True)
    text = CARD.format(on_sale=on_sale)
    (folder / "accelerators" / "card.toml").write_text(text, encoding="utf-8")
    return folder


def run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    shown = capsys.readouterr()
    assert isinstance(left.value.code, int)
    return left.value.code, shown.out, shown.err


def solved(folder: Path, **options: Any) -> planopt.Plan:
    return planopt.solve(
        model="llama-3.1-8b",
        target="5tok/s",
        accelerators="card",
        host="desktop",
        catalog=[str(folder)],
        **options,
    )


def price_of_card(plan: planopt.Plan) -> BomLine:
    (line,) = (each for each in plan.bill_of_materials if each.kind == "accelerator")
    return line


@pytest.mark.parametrize(
    ("condition", "usd"), [("new", 900.0), ("used", 500.0), ("any", 500.0)]
)
def test_accelerators_are_bought_in_the_condition_asked_for(
    overlay: Path, condition: str, usd: float
) -> None:
    plan = solved(overlay, condition=condition)
    assert price_of_card(plan).unit_price_usd == usd
    assert price_of_card(plan).used is (usd == 500.0)
    assert plan.request.condition == condition


def test_what_is_no_longer_sold_is_not_bought_new(tmp_path: Path) -> None:
    folder = with_card(tmp_path, "on_sale = false")
    plan = solved(folder)
    assert plan.status == "infeasible"
    assert plan.infeasibility is not None
    assert "no longer sold new" in str(plan.infeasibility.binding[0].detail)
    assert plan.infeasibility.nearest[0].options == {"condition": "any"}
    assert price_of_card(solved(folder, condition="used")).unit_price_usd == 500.0


def test_no_machine_with_accelerators_of_its_own_is_bought_used() -> None:
    asked: dict[str, Any] = {
        "model": "llama-3.1-8b",
        "target": "5tok/s",
        "budget": 10_000,
    }
    new, used = (planopt.solve(**asked, condition=each) for each in ("new", "used"))
    assert {line.kind for line in new.bill_of_materials} == {"host"}
    assert price_of_card(used).used
    document = json.loads(new.to_json())
    document["request"]["condition"] = "used"
    assert verify_plan(document, bundled_folder())


def test_a_price_of_ones_own_goes_before_that_of_the_catalog(overlay: Path) -> None:
    plan = solved(overlay, prices={"card": 650, "desktop": "$100"})
    line = price_of_card(plan)
    assert (line.unit_price_usd, line.source) == (650.0, "--price")
    assert plan.request.prices == {"card": 650.0, "desktop": 100.0}
    assert plan.price_usd == 750.0
    # Nobody else knows it better: it is neither rough nor old.
    assert not is_rough(plan.bill_of_materials)


def test_a_price_of_ones_own_brings_a_part_that_had_none(tmp_path: Path) -> None:
    folder = with_card(tmp_path, "on_sale = false")
    assert solved(folder, prices=["card=650"]).status == "optimal"


def test_an_hour_of_an_offer_may_be_priced() -> None:
    offer = "lambda/gpu_1x_a10/us-east-1"
    plan = planopt.solve(
        model="llama-3.1-8b",
        target="5tok/s",
        accelerators="a10",
        procurement="rent",
        provider="lambda",
        prices={offer: 0.01},
    )
    (line,) = plan.bill_of_materials
    assert (line.id, line.unit_usd_per_hour) == (offer, 0.01)
    assert verified(plan) == []


def test_every_problem_of_prices_is_told_at_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, _, told = run(
        *("solve", "--target", "5tok/s", "--condition", "odd"),
        *("--price", "rtx-4090", "--price", "rtx-5091=4000", "--price", "h100-sxm=-1"),
        *("--price", "lambda/nothing/here=2"),
        capsys=capsys,
    )
    assert code == 2
    assert told.count("error[") == 5
    assert "rtx-5090" in told  # what may be meant by rtx-5091


@pytest.mark.parametrize("condition", ["new", "used", "any"])
def test_plans_at_other_prices_are_verified(overlay: Path, condition: str) -> None:
    plan = solved(overlay, condition=condition, prices={"desktop": 333.33})
    assert verified(plan) == []


def test_a_plan_at_another_price_than_it_says_is_refused(overlay: Path) -> None:
    document = json.loads(solved(overlay, prices={"desktop": 333.33}).to_json())
    document["request"]["prices"] = {"desktop": 333.34}
    assert verify_plan(document, bundled_folder())
    del document["request"]["prices"]
    assert verify_plan(document, bundled_folder())


def test_a_discount_is_on_list_prices_of_a_vendor_and_tax_on_all(
    overlay: Path,
) -> None:
    plan = solved(overlay, discount="nvidia=12%", vat="19%", prices={"desktop": 100})
    card, desktop = plan.bill_of_materials
    assert card.unit_price_usd == pytest.approx(900 * 0.88 * 1.19, abs=1e-6)
    assert card.source == "2026-10-01, less 12 % for nvidia, with 19 % VAT"
    said = "--price, with 19 % VAT"
    assert (desktop.unit_price_usd, desktop.source) == (119.0, said)
    assert (plan.request.discount, plan.request.vat) == ({"nvidia": 0.12}, 0.19)
    assert verified(plan) == []
    document = json.loads(plan.to_json())
    for change in ({"discount": {"nvidia": 0.13}}, {"vat": 0.2}, {"vat": None}):
        assert verify_plan(
            {**document, "request": {**document["request"], **change}},
            bundled_folder(),
        )


def test_nobody_takes_anything_off_used_parts_or_others(overlay: Path) -> None:
    used = solved(overlay, discount={"NVIDIA": 0.5}, condition="used")
    assert price_of_card(used).unit_price_usd == 500.0
    any_ = solved(overlay, discount={"NVIDIA": 0.5}, condition="any")
    assert price_of_card(any_).unit_price_usd == 450.0
    other = solved(overlay, discount={"amd": 0.5})
    assert price_of_card(other).unit_price_usd == 900.0
    with pytest.raises(InputError, match="did you mean `nvidia`") as refused:
        solved(overlay, discount="nvida=5%,amd=120%", vat="-3%")
    assert len(refused.value.diagnostics) == 3


def test_a_machine_is_discounted_with_the_accelerators_in_it() -> None:
    asked: dict[str, Any] = {
        "model": "llama-3.1-8b",
        "target": "20tok/s",
        "accelerators": "gb10-dgx-spark",
    }
    listed, *_ = planopt.solve(**asked).bill_of_materials
    plan = planopt.solve(**asked, discount={"nvidia": 0.1})
    line, *cable = plan.bill_of_materials
    assert [each.kind for each in cable] == ["cable"]
    assert listed.unit_price_usd is not None
    assert line.unit_price_usd == pytest.approx(0.9 * listed.unit_price_usd, abs=1e-6)
    assert verified(plan) == []


@pytest.mark.parametrize("terms", ["on-demand", "spot", "reserved"])
def test_rents_are_taxed(terms: str) -> None:
    asked: dict[str, Any] = {
        "model": "llama-3.1-8b",
        "target": "20tok/s",
        "acquire": "rent",
        "terms": terms,
    }
    net, plan = planopt.solve(**asked), planopt.solve(**asked, vat=0.19)
    (before,), (after,) = net.bill_of_materials, plan.bill_of_materials
    assert before.unit_usd_per_hour is not None
    rent = pytest.approx(1.19 * before.unit_usd_per_hour, abs=2e-6)
    assert after.unit_usd_per_hour == rent
    assert verified(plan) == []


def verified(plan: planopt.Plan) -> list[Any]:
    return verify_plan(json.loads(plan.to_json()), bundled_folder())


# --- How old and how well known -------------------------------------------------------


def line(usd: float, date: str | None, status: str | None = "stored") -> BomLine:
    return BomLine(
        kind="host",
        id="host",
        name="Host",
        quantity=1,
        unit_price_usd=usd,
        price_usd=usd,
        price_date=date,
        price_status=status,
    )


@pytest.mark.parametrize(
    ("bill", "rough"),
    [
        ([line(100, "2026-11-01")], False),
        ([line(100, "2025-11-22")], False),
        ([line(100, "2025-11-21")], True),
        ([line(100, "2025-11")], False),  # a month ends with its 28th
        ([line(100, "2024")], True),
        ([line(100, "2026-11-01", "from-memory")], True),
        ([line(100, "2026-11-01", "assumed")], True),
        ([line(100, "2026-11-01", "derived")], False),
        ([line(100, "undated")], True),
        ([line(100, None, "given")], False),
        ([line(100, None, None)], False),  # a bare price of one's own file
        ([line(100, "2026-11-01"), line(0, "2020")], False),  # costs nothing
    ],
)
def test_a_sum_is_rough_as_soon_as_one_price_in_it_is(
    bill: list[BomLine], rough: bool
) -> None:
    assert is_rough(bill) is rough
    assert dollars(13_515, rough=rough) == ("~$13,500" if rough else "$13,515")


@pytest.mark.parametrize(
    ("sums", "rough", "said"),
    [
        ((17_239, 16_800), False, "$439"),
        ((17_239, 16_800), True, "~$400"),
        ((16_812, 16_800), True, "~$12"),
        ((16_800, 19_984), True, "~$3,200"),
        ((32.3e6, 18.2e6), True, "~$14.1M"),
        ((910, 800), True, "~$110"),
    ],
)
def test_rough_sums_differ_by_what_their_digits_do(
    sums: tuple[float, float], rough: bool, said: str
) -> None:
    assert apart(*sums, rough=rough) == said


def test_the_oldest_price_is_that_of_a_line_that_matters() -> None:
    bill = [line(13_000, "2026-09-08"), line(20, "2019"), line(700, "2026-02")]
    assert oldest_price(bill) == "2026-02"
    assert oldest_price([]) is None


def test_the_headline_says_how_old_its_prices_are(
    overlay: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    plan = solved(overlay, prices={"desktop": 700})
    assert plan.oldest_price_date == "2026-10-01"
    screen = str(plan)
    assert "$1,600" in screen.splitlines()[0]
    assert "~" not in screen.splitlines()[0]
    assert "oldest price 2026-10-01" in screen
    assert "2026-10-01, $800 to $1,000" in str(render_plan(plan, details=True))
    used = str(solved(overlay, prices={"desktop": 700}, condition="used"))
    assert "~$1,200" in used.splitlines()[0]


def test_prices_are_counted_by_age_and_status(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, out, _ = run("catalog", "prices", "--json", capsys=capsys)
    assert code == 0
    listed = json.loads(out)
    for summary in listed["summaries"]:
        assert sum(summary["by_age"].values()) == summary["parts"]
        assert sum(summary["by_status"].values()) == summary["parts"]
    kinds = {summary["kind"] for summary in listed["summaries"]}
    assert kinds == {"accelerator", "host", "nic", "switch", "cable", "instance"}
    assert sum(listed["basis"].values()) == len(listed["basis_of"])
    assert sum(listed["on_sale"].values()) == len(listed["basis_of"])
    assert min(listed["on_sale"].values()) > 0
    assert listed["basis_of"]["rtx-5090"] == "card"
    assert listed["basis_of"]["h100-sxm"] == "system / n"
    assert listed["basis_of"]["gb10-dgx-spark"] == "machine only"
    assert listed["basis_of"]["tpu-v5p"] == "rent only"


def test_an_entry_shows_the_range_of_its_price(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = run("catalog", "show", "rtx-5090", capsys=capsys)
    assert "$5000, one at $3,350 to $5,800" in " ".join(out.split())
    _, out, _ = run("catalog", "show", "h100-sxm", capsys=capsys)
    assert "$255237 per 8" in " ".join(out.split())


def test_an_entry_shows_what_an_accelerator_draws_at_rest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, out, _ = run("catalog", "show", "h200-sxm", capsys=capsys)
    assert "idle_power 78 W stored, 2026-11-21" in " ".join(out.split())


def test_only_what_is_older_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run("catalog", "prices", "--older", "400d", "--json", capsys=capsys)
    ages = [each["age_days"] for each in json.loads(out)["prices"]]
    assert ages
    assert all(age is None or age > 400 for age in ages)


def test_the_page_has_the_table_as_it_is_now(
    repository: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = (repository / "docs/reference/catalogs.md").read_text(encoding="utf-8")
    monkeypatch.setenv("COLUMNS", "120")
    _, out, _ = run("catalog", "prices", capsys=capsys)
    assert f"```text\n{out}```" in page


def test_a_price_that_is_no_price_is_refused() -> None:
    with pytest.raises(InputError) as told:
        planopt.solve(target="5tok/s", prices={"rtx-5090": "5tok/s"})
    assert told.value.diagnostics[0].code == "E002"


# --- Nothing is bought twice ----------------------------------------------------------


@pytest.mark.parametrize(
    ("accelerator", "host", "network", "bought"),
    [
        ("b200", "dgx-b200", "infiniband-400g", 0),
        ("h100-sxm", "dgx-h100", "infiniband-400g", 0),
        ("a100-sxm-40", "dgx-a100-320", "infiniband-200g", 0),
        ("h100-sxm", "supermicro-8x-h100", "infiniband-400g", 32),
        ("h100-sxm", "hgx-8", "infiniband-400g", 32),
    ],
)
def test_nics_that_come_with_a_machine_are_not_in_the_bill(
    accelerator: str, host: str, network: str, bought: int
) -> None:
    prices = {host: 400_000}
    evaluation = planopt.evaluate_training(
        model="llama-2-70b",
        accelerator=accelerator,
        host=host,
        network=network,
        nics_per_host=8,
        tp=8,
        dp=4,
        zero="zero1",
        tokens="1T",
        redundancy=0,
        prices=prices,
    )
    nics = [each for each in evaluation.bill_of_materials if each.kind == "nic"]
    assert sum(each.quantity for each in nics) == bought


def test_a_machine_without_a_free_slot_takes_its_own_nics_only() -> None:
    asked: dict[str, Any] = {
        "model": "llama-2-70b",
        "target": "3tok/s",
        "accelerators": "gb10-dgx-spark",
    }
    assert planopt.solve(**asked, network="ethernet-200g").status == "optimal"
    refused = planopt.solve(**asked, network="ethernet-25g-cx4")
    assert all(each.hardware.hosts == 1 for each in refused.deployments)
    plan = planopt.solve(**asked, network="ethernet-200g")
    document = json.loads(plan.to_json())
    document["deployments"][0]["hardware"]["network"] = "ethernet-25g-cx4"
    told = " ".join(str(each) for each in verify_plan(document, bundled_folder()))
    # It carries the facts of what it bought, and of no other network.
    assert "does not carry `networks/ethernet-25g-cx4`" in told


def test_a_run_on_machines_with_nics_of_their_own_is_verified() -> None:
    plan = planopt.train(
        model="llama-3.1-8b",
        tokens="500B",
        deadline="20d",
        accelerators="h100-sxm",
        host="dgx-h100",
        network="infiniband-400g",
        max_accelerators=64,
        top=1,
    )
    assert plan.deployments[0].hardware.hosts > 1
    kinds = {line.kind for line in plan.bill_of_materials}
    assert kinds - AROUND.keys() == {"host", "cable", "switch"}
    document = json.loads(plan.to_json())
    assert verify_plan(document, bundled_folder()) == []
    document["bill_of_materials"][0]["quantity"] += 1
    assert verify_plan(document, bundled_folder())
