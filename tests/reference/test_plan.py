"""Verification of whole plans: right ones pass, and no change to one does."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planopt_reference import Facts, evaluate_serving, verify_plan
from planopt_reference.cost import cost_table
from planopt_reference.fields import FIELDS, leaves, mark_of
from planopt_reference.purchase import merged, unit

UNITS = 2
LAYOUT: dict[str, Any] = {
    "accelerator": "card",
    "host": "server4",
    "network": "direct",
    "nics_per_host": 1,
    "tp": 4,
    "pp": 2,
}


def plan_of(facts: Facts) -> dict[str, Any]:
    """Two pairs of servers of four cards, each pair one replica of TP4 x PP2."""
    bought = unit(facts, **LAYOUT, switch=None, replicas=1)
    evaluation = evaluate_serving(
        facts,
        **LAYOUT,
        model="nominal",
        in_flight=2,
        batch=4,
        context=1024,
        prompt=512,
        kv_heads=8,
    )
    assert evaluation["feasible"]
    rate = evaluation["decode"]["tokens_per_second"]
    price, power = UNITS * bought.price, UNITS * bought.power_watts
    cost = facts.assumptions.cost
    bill = [line.table() for line in merged([(UNITS, bought.lines)])]
    return {
        "schema": "planopt.plan/2",
        "kind": "serving",
        "status": "optimal",
        "objective": "cheapest",
        "price_usd": price / 1e6,
        "bound_usd": price / 1e6,
        "gap": 0.0,
        "request": {
            "model": "nominal",
            "weights": None,
            "kv": None,
            "kv_heads": 8,
            "overlap": "none",
            "prompt_tokens": 512,
            "context_tokens": 1024,
            "concurrency": 16,
            "target_tokens_per_second": 5.0,
            "throughput_tokens_per_second": None,
            "budget_usd": 40_000.0,
            "max_power_watts": 8000.0,
            "max_racks": 1,
            "stock": {"card": 16},
            "redundancy": 0,
            "assumptions": "article",
            "catalog": [],
        },
        "bill_of_materials": bill,
        "deployments": [
            {
                "model": "nominal",
                "units": UNITS,
                "replicas": UNITS,
                "candidate": {
                    "accelerator": "card",
                    "tp": 4,
                    "pp": 2,
                    "in_flight": 2,
                    "batch": 4,
                    "overlap": "none",
                    "weights": "fp16",
                    "kv": "bf16",
                },
                "hardware": {
                    "host": "server4",
                    "hosts": 2,
                    "link": "pcie4-x16",
                    "network": "direct",
                    "nics_per_host": 1,
                    "switch": None,
                    "switch_count": 0,
                    "switch_port_blocks": 0,
                    "rack_units": bought.rack_units,
                },
                "bill_of_materials": copy.deepcopy(bill),
                "evaluation": {
                    **evaluation,
                    "cost": cost_table(
                        [(bought.price, bought.power_watts, bought.rack_units)],
                        rate,
                        cost,
                    ),
                    "power_watts": bought.power_watts,
                },
            }
        ],
        "cost": cost_table(
            [(price, power, UNITS * bought.rack_units)], UNITS * rate, cost
        ),
        "power_watts": power,
        "alternatives": [],
        "infeasibility": None,
        "sensitivity": [],
        "search": {"candidates_covered": 1, "seconds": 0.1},
        "assumptions": "article",
        "accuracy": None,
    }


@pytest.fixture(scope="module")
def plan(article: Facts) -> dict[str, Any]:
    """A right plan."""
    return plan_of(article)


def test_a_right_plan_passes(plan: dict[str, Any], catalog: Path) -> None:
    assert verify_plan(plan, catalog) == []


def test_the_bill_of_two_pairs_of_servers(plan: dict[str, Any]) -> None:
    # Twice the article's $19 400; 16 cards, 4 servers, 4 NICs.
    assert plan["price_usd"] == 38_800
    quantities = {line["id"]: line["quantity"] for line in plan["bill_of_materials"]}
    assert quantities == {"card": 16, "server4": 4, "nic-direct": 4}


def set_leaf(document: Any, field: str, value: object) -> None:
    steps = field.replace("[", ".[").split(".")
    for step in steps[:-1]:
        document = document[int(step[1:-1]) if step.startswith("[") else step]
    last = steps[-1]
    document[int(last[1:-1]) if last.startswith("[") else last] = value


def changed(value: object) -> Iterator[object]:
    """Return values that a field could be forged to."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value * 2 + 1, None, "many", -1)
    elif isinstance(value, float):
        yield from (value * (1 + 1e-5) + 1e-5, -value - 1, None, float("nan"))
    elif isinstance(value, str):
        yield from (f"{value}x", None)
    elif value is None:
        yield 0.5
    else:
        yield ["something"]


def test_no_change_to_a_verified_field_passes(
    plan: dict[str, Any], catalog: Path
) -> None:
    verified = [
        (field, value) for field, value in leaves(plan) if mark_of(field) == "verified"
    ]
    assert len(verified) > 60
    for field, value in verified:
        for forged in changed(value):
            copied = copy.deepcopy(plan)
            set_leaf(copied, field, forged)
            assert verify_plan(copied, catalog), f"{field} = {forged!r} passed"


def test_every_field_of_a_plan_has_a_mark(plan: dict[str, Any]) -> None:
    assert [field for field, _ in leaves(plan) if mark_of(field) is None] == []
    assert mark_of("deployments[3].evaluation.decode.invented") is None
    assert mark_of("invented") is None
    assert set(FIELDS.values()) == {"verified", "checked", "informative"}


@pytest.mark.parametrize(
    "kind", ["deployments[0].bill_of_materials", "bill_of_materials"]
)
def test_lines_cannot_be_left_out_or_added(
    plan: dict[str, Any], catalog: Path, kind: str
) -> None:
    forged = copy.deepcopy(plan)
    bill = forged["deployments"][0] if kind.startswith("dep") else forged
    line = bill["bill_of_materials"].pop()
    (found,) = verify_plan(forged, catalog)
    assert found.field == kind
    bill["bill_of_materials"].extend([line, line])
    (found,) = verify_plan(forged, catalog)
    assert found.field.startswith(kind)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("target_tokens_per_second", 50.0),
        ("concurrency", 17),
        ("throughput_tokens_per_second", 1e6),
        ("budget_usd", 38_799.99),
        ("max_power_watts", 7600.0),
        ("max_racks", 0.3),
    ],
)
def test_limits_of_the_request(
    plan: dict[str, Any], catalog: Path, key: str, value: float
) -> None:
    # 16 users need both replicas; 2 * 3810 W; 16 of 42 rack units; $38 800.
    broken = copy.deepcopy(plan)
    broken["request"][key] = value
    assert [one.field for one in verify_plan(broken, catalog)] == [f"request.{key}"]


def test_stock(plan: dict[str, Any], catalog: Path) -> None:
    broken = copy.deepcopy(plan)
    broken["request"]["stock"] = {"card": 15, "server8": 0}
    assert [one.field for one in verify_plan(broken, catalog)] == ["request.stock.card"]


def test_a_spare_replica_is_not_counted_on(plan: dict[str, Any], catalog: Path) -> None:
    # Each replica serves 2 * 4 users: one of two is a spare for 8 of them, not for 9.
    spare = copy.deepcopy(plan)
    spare["request"] |= {"redundancy": {"host": 1}, "concurrency": 8}
    told = {"domain": "host", "losses": 1, "replicas_left": 1}
    spare["failures"] = [told]
    assert verify_plan(spare, catalog) == []
    spare["failures"] = [told | {"replicas_left": 2}]
    assert [one.field for one in verify_plan(spare, catalog)] == ["failures"]
    spare["failures"] = [told]
    spare["request"]["concurrency"] = 9
    assert [one.field for one in verify_plan(spare, catalog)] == ["request.concurrency"]


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"bound_usd": 30_000.0}, ["gap", "status"]),
        ({"bound_usd": 40_000.0}, ["bound_usd", "gap"]),
        ({"bound_usd": 19_400.0, "gap": 0.5, "status": "feasible"}, []),
        ({"bound_usd": 19_400.0, "gap": 0.5}, ["status"]),
        ({"bound_usd": None}, ["bound_usd"]),
        ({"bound_usd": None, "gap": None}, ["bound_usd"]),
        ({"status": "perfect"}, ["status"]),
    ],
)
def test_bound_gap_and_status_agree(
    plan: dict[str, Any], catalog: Path, changes: dict[str, Any], fields: list[str]
) -> None:
    found = verify_plan(plan | changes, catalog)
    assert [one.field for one in found] == fields


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tp": 3}, "do not divide"),
        ({"tp": 0}, ""),
        ({"batch": 400}, "fullest stage"),
        ({"accelerator": "unknown"}, "no `unknown` in accelerators/"),
        ({"accelerator": "board"}, "does not fit"),
    ],
)
def test_candidates_that_cannot_be(
    plan: dict[str, Any], catalog: Path, changes: dict[str, Any], message: str
) -> None:
    forged = copy.deepcopy(plan)
    forged["deployments"][0]["candidate"] |= changes
    found = verify_plan(forged, catalog)
    assert found[0].field == "deployments[0]"
    assert message in str(found[0])


def test_documents_that_are_no_plans(plan: dict[str, Any], catalog: Path) -> None:
    for broken, field in (
        ({}, "schema"),
        ({"schema": "planopt.plan/2"}, "request"),
        ({**plan, "deployments": []}, "deployments"),
        ({**plan, "deployments": [None]}, "promises"),
        ({**plan, "request": {}}, "request.assumptions"),
    ):
        assert [one.field for one in verify_plan(broken, catalog)] == [field]


def test_an_infeasible_plan_buys_nothing(plan: dict[str, Any], catalog: Path) -> None:
    nothing: dict[str, Any] = {
        "price_usd": None,
        "bill_of_materials": [],
        "deployments": [],
        "infeasibility": {"note": "too dear"},
    }
    infeasible = {**plan, "status": "infeasible", **nothing}
    assert verify_plan(infeasible, catalog) == []
    found = verify_plan({**plan, "status": "infeasible"}, catalog)
    expected = ["price_usd", "bill_of_materials", "deployments", "infeasibility"]
    assert [one.field for one in found] == expected


def test_an_embedded_architecture_stands_for_a_model_file(
    plan: dict[str, Any], catalog: Path, article: Facts
) -> None:
    embedded = copy.deepcopy(plan)
    embedded["request"]["model"] = "models/config.json"
    embedded["deployments"][0]["model"] = "models/config.json"
    embedded["request"]["architecture"] = article.model_table("nominal")
    assert verify_plan(embedded, catalog) == []


def test_other_prices_of_an_overlay_show(
    plan: dict[str, Any], catalog: Path, tmp_path: Path
) -> None:
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    text = (catalog / "hosts" / "server4.toml").read_text(encoding="utf-8")
    dearer = text.replace("$3000", "$3001")
    (hosts / "server4.toml").write_text(dearer, encoding="utf-8")
    fields = {one.field for one in verify_plan(plan, catalog, [tmp_path])}
    assert "price_usd" in fields
    assert "cost.usd_per_hour" in fields
    assert not any(".decode." in field for field in fields)
