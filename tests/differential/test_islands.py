"""Runs over islands against the reference, and what holds at their ends."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt_reference import islands as reference

if TYPE_CHECKING:
    from planopt.documents.homes import IslandsRun

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HOUR = 3600
CATALOGS = Path(planopt.__file__).parent / "catalogs"
LIFETIME, AWAY = 10 * HOUR, 2.5 * HOUR
PARAMETERS = {"llama-3.2-1b": 1_235_814_400, "llama-2-7b": 6_738_415_616}
RUNS = [
    ("llama-3.2-1b", "16xrtx-4090", 2e10),
    ("llama-2-7b", "100xrtx-4090", 140e9),
    ("llama-3.2-1b", "5xrtx-4090,wan-1g", 1e10),
]


def table(name: str) -> dict[str, float]:
    """Return the numbers of a table of the usual assumptions."""
    text = (CATALOGS / "assumptions" / "calibrated.toml").read_text()
    found = tomllib.loads(text)[name]
    values = {key: each["value"] for key, each in found.items()}
    return {key: v for key, v in values.items() if isinstance(v, (int, float))}


def line(name: str) -> reference.Uplink:
    """Return a line as TCP reaches it."""
    link = tomllib.loads((CATALOGS / "links" / f"{name}.toml").read_text())
    reached = tomllib.loads((CATALOGS / "assumptions" / "calibrated.toml").read_text())[
        "communication"
    ]
    rate = float(link["bandwidth"]["value"].split()[0]) * 1e9
    latency = float(link["latency"]["value"].split()[0]) * 1e-3
    own = reached["tcp_latency"]["value"].split()
    latency += float(own[0]) * {"us": 1e-6, "ms": 1e-3}[own[1]]
    rate *= reached["tcp_efficiency"]["value"]
    return reference.Uplink(up=rate, down=rate, latency=latency)


@pytest.mark.parametrize(("model", "islands", "tokens"), RUNS)
def test_every_cadence_is_as_the_reference_has_it(
    model: str, islands: str, tokens: float
) -> None:
    """Exchange, loss, presence and days are those of slow formulas."""
    plan = planopt.train_islands(model=model, islands=islands, tokens=tokens)
    assert plan.best is not None
    assert len(plan.cadences) == 10
    assert plan.best.days == min(run.days for run in plan.cadences)
    known = table("islands")
    for run in plan.cadences:
        (kind,) = run.islands
        payload = PARAMETERS[model] * known["exchange_bits"] / 8 / kind.machines
        ways = reference.exchange_seconds(line(kind.network), payload, kind.islands)
        assert run.exchange_bytes == pytest.approx(payload, rel=1e-12)
        fastest = min(ways, key=lambda way: ways[way])
        assert run.topology == fastest
        # Both wait for the slowest machine alike.
        waits = run.exchange_seconds / ways[fastest]
        assert 1 <= waits < 1.05
        assert run.round_seconds == pytest.approx(
            run.inner_seconds + run.exchange_seconds, rel=1e-9
        )
        increase = reference.loss_increase(
            known["loss_rate"], run.inner_steps, kind.islands
        )
        assert run.loss_increase == pytest.approx(increase, rel=1e-9)
        factor = reference.tokens_factor(known, PARAMETERS[model], tokens, increase)
        assert factor is not None
        assert run.tokens_factor == pytest.approx(factor, rel=1e-9)
        machines = kind.islands * kind.machines + kind.spares
        presence = LIFETIME / (LIFETIME + AWAY)
        there = reference.running(presence, machines, kind.machines, kind.islands)
        assert run.availability == pytest.approx(there, rel=1e-9)
        speed = kind.tokens_per_second * kind.islands * there * run.goodput
        speed *= run.inner_seconds / run.round_seconds
        assert run.tokens_per_second == pytest.approx(speed, rel=1e-9)
        days = tokens * factor / speed / HOUR / 24
        assert run.days == pytest.approx(days, rel=1e-9)
        paid = kind.islands * kind.machines * there * kind.usd_per_hour
        assert run.usd == pytest.approx(paid * days * 24, rel=1e-9)


def best(**options: Any) -> IslandsRun:
    """Ask for a run, and return it."""
    found = planopt.train_islands(**options)
    assert found.best is not None
    return found.best


def test_one_island_is_a_cluster() -> None:
    """A host of eight cards that is back at once trains as `train` has it."""
    asked: dict[str, Any] = {"model": "llama-3-8b", "tokens": "1T", "seq_len": 4096}
    run = best(islands="1x8xh100-sxm", away="1us", **asked)
    plan = planopt.train(
        accelerators="h100-sxm",
        max_accelerators=8,
        budget="10M",
        objective="throughput",
        redundancy=0,
        **asked,
    )
    deployment = plan.deployments[0]
    assert run.islands[0].candidate == deployment.candidate
    assert run.islands[0].step_seconds == pytest.approx(
        deployment.evaluation.step_seconds, rel=1e-9
    )
    assert run.tokens_factor == 1
    assert run.compute_utilisation == 1


def test_a_deadline_buys_islands_and_no_deadline_time() -> None:
    """The cheapest in time is no dearer than the first to be done, and in time."""
    asked: dict[str, Any] = {
        "model": "llama-3.2-1b",
        "islands": "12xrtx-4090",
        "tokens": "10B",
    }
    first = best(**asked)
    days = first.days * 1.5
    cheapest = best(deadline=days * 24 * HOUR, **asked)
    assert cheapest.days <= days
    assert cheapest.usd <= first.usd * (1 + 1e-12)
    late = planopt.train_islands(deadline=HOUR, **asked)
    assert late.best is None
    assert late.nearest is not None
    assert late.nearest.days == pytest.approx(first.days)


def test_idle_machines_cost_their_electricity() -> None:
    """What stands there anyhow costs what it draws, and no more."""
    asked: dict[str, Any] = {
        "model": "llama-3.2-1b",
        "islands": "8xrtx-4090",
        "tokens": "10B",
    }
    run = best(marginal=True, **asked)
    assert run.usd == pytest.approx(run.energy_usd)
    assert run.usd == pytest.approx(run.energy_kwh * 0.1)
    assert best(**asked).usd > run.usd


def test_what_is_rented_stands_beside_what_is_owned() -> None:
    """An offer is an island at its price, whose machines stay."""
    offer = "lambda/gpu_8x_h100_sxm5/us-east-1"
    known = planopt.train_islands(
        model="llama-3-8b", islands=f"2x{offer},wan-1g", tokens="100B"
    )
    assert known.best is not None
    (kind,) = known.best.islands
    assert kind.machines == 1
    assert kind.accelerators == 8
    assert kind.power_watts is None
    assert known.best.availability == 1


@pytest.mark.parametrize(
    ("islands", "code"),
    [("100xrtx-4091", "E001"), ("2x2x2xrtx-4090", "E002"), ("9999xrtx-4090", "E003")],
)
def test_wrong_machines_are_refused(islands: str, code: str) -> None:
    """Each with its code, at its place."""
    with pytest.raises(planopt.InputError) as refused:
        planopt.train_islands(islands=islands, tokens="1B")
    problem = refused.value.diagnostics[0]
    assert (problem.code, problem.field) == (code, "--islands")


def test_options_of_islands_are_about_islands() -> None:
    """`train` says so."""
    with pytest.raises(planopt.InputError, match="is about islands"):
        planopt.train(tokens="1B", deadline="1d", lifetime="1d")


def test_islands_that_meet_at_each_step_are_data_parallel_ranks(tmp_path: Path) -> None:
    """Without compression and what training hides of its exchange, to 1e-9."""
    usual = (CATALOGS / "assumptions" / "calibrated.toml").read_text()
    waits = re.sub(r"(data_overlap = \{ value = )[\d.]+", r"\g<1>0.0", usual)
    assert "exchange_bits = { value = 8" in waits
    overlay = tmp_path / "calibrated.toml"
    overlay.write_text(
        waits.replace("exchange_bits = { value = 8", "exchange_bits = { value = 32")
    )
    asked: dict[str, Any] = {
        "model": "llama-3.2-1b",
        "global_batch": 1024,
        "assumptions": str(overlay),
    }
    run = best(
        # Who leaves soon is better alone, so that there are islands of one card.
        islands="4xh100-pcie,wan-1g",
        tokens="10B",
        inner_steps=1,
        lifetime="10min",
        away="1us",
        **asked,
    )
    (kind,) = run.islands
    assert (kind.islands, kind.accelerators) == (4, 1)
    step = planopt.evaluate_training(
        accelerator="h100-pcie",
        host=kind.host,
        network="wan-1g",
        dp=4,
        zero="0",
        micro_batch=kind.candidate.batch,
        **asked,
    )
    assert step.step_seconds == pytest.approx(run.round_seconds, rel=1e-9)
    assert run.exchange_seconds / run.round_seconds > 0.5
