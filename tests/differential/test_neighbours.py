"""Chains of neighbours against the reference, and what holds at their ends."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

import planopt
from planopt.cli import main
from planopt_reference.islands import leaves

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.documents.homes import Chains

STAYS: dict[str, Any] = {"lifetime": "1000000d", "away": "1us"}
SERVED: dict[str, Any] = {"model": "llama-3.1-70b", "weights": "int4"}
LINES = {
    "wan-100m": "",
    "ethernet-10g": "",
    "endless": 'bandwidth = { value = "1e9 GB/s", source = "none" }\n'
    'latency = { value = "0 s", source = "none" }\n',
}


def best(**options: Any) -> Chains:
    """Ask for chains, and return the best."""
    plan = planopt.serve_neighbours(**options)
    assert plan.best is not None
    return plan.best


def endless(folder: Path) -> str:
    """Lay a line over the catalogs that takes no time."""
    source = (
        '[sources.none]\ncite = "a test"\ndate = "2026-11-24"\nstatus = "assumed"\n'
    )
    (folder / "links").mkdir()
    (folder / "networks").mkdir()
    (folder / "links" / "endless.toml").write_text(
        'id = "endless"\nname = "endless"\nkind = "ethernet"\n'
        + LINES["endless"]
        + source
    )
    (folder / "networks" / "endless.toml").write_text(
        'id = "endless"\nname = "endless"\nlink = "endless"\ntransport = "tcp"\n'
        'nics_per_host = [1]\n[nic]\nid = "nic-endless"\nname = "a router"\n'
        f'power = {{ value = "0 W", source = "none" }}\n{source}'
    )
    return str(folder)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("target", [None, "5tok/s"])
def test_neighbours_who_stay_are_a_pipeline(
    line: str, target: str | None, tmp_path: Path
) -> None:
    """Over any line, a LAN's or an endless one, to 1e-9 what `evaluate` says."""
    asked = dict(SERVED, catalog=endless(tmp_path))
    chains = best(neighbours=f"6xrtx-3090,{line}", target=target, **asked, **STAYS)
    told = planopt.evaluate(
        accelerator="rtx-3090",
        pp=chains.in_flight,
        hosts=chains.in_flight,
        network=line,
        in_flight=chains.in_flight,
        batch=chains.batch,
        max_model_len=1024,
        **asked,
    )
    step, waiting = told.decode.step_seconds, told.decode.waiting_seconds
    assert step is not None
    assert waiting is not None
    assert step - waiting == pytest.approx(chains.turn_seconds, rel=1e-9)
    # Layers are cut so that nobody waits for the slowest stage, if that can be.
    assert chains.turn_seconds <= chains.step_seconds <= step * (1 + 1e-9)
    assert told.prefill.seconds == pytest.approx(chains.prefill_seconds, rel=1e-9)
    assert chains.availability == pytest.approx(1, abs=1e-9)
    assert chains.serving == pytest.approx(1, abs=1e-6)


QUESTIONS: list[dict[str, Any]] = [
    {"neighbours": "8xrtx-3090,wan-100m", "target": "5tok/s", **SERVED},
    {
        "neighbours": "9xrtx-3090,12xrtx-4090,wan-100m,5xrtx-3060-12,wan-1g",
        "target": "6tok/s",
        "sell": "in=0.1,out=0.5",
        "repeat": 2,
        "marginal": True,
        "electricity": "$0.3/kWh",
        **SERVED,
    },
    {"neighbours": "4xm2-ultra,1xrtx-4090", "model": "qwen3-30b-a3b", **STAYS},
    # Too slow for its target: what is nearest is computed again as well.
    {"neighbours": "8xrtx-3090", "model": "llama-3.1-70b", "target": "5tok/s"},
]


@pytest.mark.parametrize("asked", QUESTIONS)
def test_every_figure_is_as_the_reference_has_it(asked: dict[str, Any]) -> None:
    """Memory, times, shares of the time and money of all that was tried."""
    plan = planopt.serve_neighbours(**asked)
    verdict = planopt.verify(plan)
    assert not verdict.mismatches
    assert verdict.figures > 100
    target = plan.target_tokens_per_second
    if plan.best is not None and target is not None:
        assert plan.best.tokens_per_second_per_user_served >= target


def test_every_forged_figure_is_found(tmp_path: Path) -> None:
    """Whichever of the best is changed, but for what is simulated."""
    plan = planopt.serve_neighbours(**QUESTIONS[1])
    document = {**json.loads(msgspec.json.encode(plan)), "lengths": []}
    saved = tmp_path / "plan.json"
    missed = []
    for place, value in leaves("best", document["best"]):
        if not isinstance(value, int | float) or "simulated" in place:
            continue
        forged = deepcopy(document)
        at: Any = forged
        *way, last = place.replace("[", ".").replace("]", "").split(".")
        for part in way:
            at = at[int(part)] if part.isdigit() else at[part]
        more = value + 1 if isinstance(value, int) else value * 1.01 + 0.01
        at[int(last) if last.isdigit() else last] = more
        saved.write_text(json.dumps(forged))
        if planopt.verify(saved):
            missed.append(place)
    assert not missed


UNLIKE: dict[str, Any] = {
    "neighbours": "3xrtx-5090,3xrtx-4090,ethernet-25g",
    "model": "llama-2-70b",
    "weights": "bf16",
    "target": "5tok/s",
}


def test_unlike_cards_of_one_place_hold_what_neither_kind_does() -> None:
    """Nobody leaves, faster cards have more layers, and a stay that is said counts."""
    plan = planopt.serve_neighbours(**UNLIKE)
    assert planopt.verify(plan)
    chains = plan.best
    assert chains is not None
    assert (chains.availability, chains.running, chains.serving) == (1, 1, 1)
    layers = [[s.layers for s in chains.stages if s.kind == k] for k in (0, 1)]
    assert sum(map(sum, layers)) == 80
    assert min(layers[0]) > max(layers[1])
    for kind in ("3xrtx-5090", "3xrtx-4090"):
        alone = {**UNLIKE, "neighbours": f"{kind},ethernet-25g"}
        assert planopt.serve_neighbours(**alone).best is None
    leaving = best(**UNLIKE, lifetime="10h")
    assert leaving.availability < 1
    assert not any(each.name == "stay of a machine" for each in plan.assumed)


def test_more_is_paid_for_less_where_tokens_are_computed_twice() -> None:
    """Half the users, half the tokens, at twice the price."""
    once, twice = (best(**{**QUESTIONS[0], "repeat": k}) for k in (1, 2))
    assert twice.users == once.users / 2
    assert twice.usd_per_million_tokens == pytest.approx(
        2 * once.usd_per_million_tokens
    )


def test_who_stays_longer_serves_more() -> None:
    """And who comes back sooner; electricity alone is cheaper."""
    asked = QUESTIONS[0]
    usual = best(**asked)
    for other in ({"lifetime": "5d"}, {"away": "10min"}):
        more = best(**{**asked, **other})
        assert more.availability > usual.availability
        assert more.output_tokens_per_second > usual.output_tokens_per_second
    assert best(**asked, marginal=True).usd_per_hour < usual.usd_per_hour


def test_unlike_machines_share_the_layers_by_what_they_can() -> None:
    """A card with half the memory holds fewer layers, and is not left out."""
    chains = best(
        neighbours="2xrtx-3090,2xrtx-3060-12,wan-1g", target="2tok/s", **SERVED
    )
    small = [stage.layers for stage in chains.stages if stage.kind == 1]
    large = [stage.layers for stage in chains.stages if stage.kind == 0]
    assert sum(small) + sum(large) == 80
    assert small
    assert max(small) < min(large)


@pytest.mark.parametrize(
    ("neighbours", "code"),
    [
        ("8xrtx-3091", "E001"),
        ("2x4xrtx-3090", "E002"),
        ("9999xrtx-3090", "E003"),
        ("wan-100m", "E005"),
    ],
)
def test_wrong_neighbours_are_refused(neighbours: str, code: str) -> None:
    """Each with its code, at its place."""
    with pytest.raises(planopt.InputError) as refused:
        planopt.serve_neighbours(neighbours=neighbours)
    problem = refused.value.diagnostics[0]
    assert (problem.code, problem.field) == (code, "--neighbours")


def test_what_is_owned_behind_a_network_is_a_chain(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """`solve --own` is understood; so are the report and `verify` of what it saves."""
    saved, page = str(tmp_path / "pool.json"), str(tmp_path / "pool.html")
    words = ["--own", "8xrtx-3090,wan-100m", "--weights", "int4"]
    for command, told in (
        (["solve", *words, "--model", "llama-3.1-70b", "--out", saved], "on a chain"),
        (["verify", saved], ": VERIFIED"),
        (["report", saved, "--html", page], "wrote"),
    ):
        with pytest.raises(SystemExit) as left:
            main(command)
        assert not left.value.code
        assert told in capsys.readouterr().out
    assert "on a chain of neighbours" in (tmp_path / "pool.html").read_text()


def test_options_of_neighbours_are_about_neighbours() -> None:
    """`solve` says so, of a network among what is owned as well."""
    with pytest.raises(planopt.InputError, match="is about neighbours"):
        planopt.solve(repeat=2)
    with pytest.raises(planopt.InputError, match="joins machines of neighbours"):
        planopt.solve(own="8xrtx-3090,wan-100m")


def test_a_run_over_islands_is_verified() -> None:
    """Homes and rented hosts; a forged day is found."""
    offer = "1xlambda/gpu_8x_h100_sxm5/us-east-1"
    plan = planopt.train_islands(
        model="llama-3.2-1b", islands=f"{offer},8xrtx-4090,wan-1g", tokens="20B"
    )
    assert plan.best is not None
    assert not planopt.verify(plan).mismatches
    best = msgspec.structs.replace(plan.best, days=plan.best.days * 0.9)
    forged = msgspec.structs.replace(plan, best=best)
    assert planopt.verify(forged).mismatches
