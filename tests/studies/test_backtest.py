"""Choices by predictions are judged by what was measured of them."""

from __future__ import annotations

from math import inf

import pytest
from msgspec import structs

from planopt.accuracy.columns import read_rows
from planopt.accuracy.serving_rows import ServingRow
from planopt.catalog.open import bundled_folder
from planopt_studies.backtest import (
    CHOOSERS,
    CONFIDENCES,
    PEER,
    POPULAR,
    ROOFLINE,
    Question,
    Run,
    beside,
    chosen,
    lines_of,
    outcome,
    outcomes,
    questions,
    rents,
)
from planopt_studies.backtest_peer import asked_of, groups_of


def run(name: str, usd: float, tpot: float, told: float, **rest: object) -> Run:
    """Make a run of ten users whose rate is that of its tokens."""
    figures = dict.fromkeys((*CONFIDENCES, ROOFLINE), (told, 10 / told))
    known: dict[str, object] = {
        "row": name,
        "kind": ("m", 1024, 1024),
        "configuration": (name,),
        "users": 10,
        "usd": usd,
        "tpot": tpot,
        "rate": 10 / tpot,
        "predicted": figures,
        "sure": {"planopt, 80 %": 1.2, "planopt, 95 %": 1.5},
        "popularity": 0,
    }
    return Run(**(known | rest))  # type: ignore[arg-type] # a run of a test


def asked(objective: str, most: float, *runs: Run) -> Question:
    return Question(objective=objective, runs=runs, most=most)


SLOW, FAST = run("slow", 1.0, 0.030, 0.018), run("fast", 3.0, 0.010, 0.010)


def test_the_cheapest_that_is_told_to_hold_is_taken() -> None:
    question = asked("cheapest", 0.020, SLOW, FAST)
    assert chosen(question, "planopt, 50 %") == SLOW
    # It does not hold; whoever wants to be surer takes the other one.
    assert outcome(question, "planopt, 50 %").is_broken
    assert outcome(question, "planopt, 80 %").regret == 0
    dearer = asked("cheapest", 0.040, SLOW, FAST)
    assert outcome(dearer, "planopt, 95 %").regret == 0
    late = asked("cheapest", 0.040, run("slow", 1.0, 0.030, 0.050), FAST)
    assert outcome(late, "planopt, 50 %").regret == pytest.approx(2.0)


def test_nothing_is_taken_where_nothing_is_told_to_hold() -> None:
    question = asked("cheapest", 0.012, SLOW, FAST)
    told = outcome(question, "planopt, 95 %")
    assert told.regret is None
    assert not told.is_broken


def test_the_fastest_is_the_shortest_token_and_has_no_promise() -> None:
    wrong = run("wrong", 2.0, 0.020, 0.005)
    found = outcome(asked("fastest", 5.0, wrong, FAST), ROOFLINE)
    assert found.regret == pytest.approx(1.0)
    assert not found.is_broken


def test_tokens_for_a_dollar_are_lost_as_a_share_of_the_best() -> None:
    # 333 tokens a second for a dollar an hour, and 1,000 for three.
    question = asked("tokens per dollar", 0.1, run("a", 1.0, 0.030, 0.030), FAST)
    assert outcome(question, "planopt, 50 %").regret == pytest.approx(0.0, abs=1e-9)
    other = run("b", 1.0, 0.060, 0.020)
    question = asked("tokens per dollar", 0.1, other, FAST)
    assert outcome(question, "planopt, 50 %").regret == pytest.approx(1.0)


def test_what_most_have_is_taken_whatever_is_asked() -> None:
    popular = run("popular", 9.0, 0.050, 0.001, popularity=7)
    question = asked("cheapest", 0.012, SLOW, FAST, popular)
    assert chosen(question, POPULAR) == popular
    assert outcome(question, POPULAR).is_broken


def test_questions_are_the_same_for_a_seed_and_let_choose() -> None:
    runs = [run(str(n), 1.0 + n, 0.01 * (n + 1), 0.01 * (n + 1)) for n in range(5)]
    found = questions(runs, 7)
    assert found == questions(runs, 7)
    assert found != questions(runs, 8)
    assert all(len({run.row for run in each.runs}) > 1 for each in found)
    # Each may be answered: what is promised was measured of one of them.
    bound = [each for each in found if each.objective != "fastest"]
    assert all(any(run.tpot <= each.most for run in each.runs) for each in bound)
    told = lines_of(outcomes(found))
    assert len(told) == 2 + len(CHOOSERS)
    # Right predictions choose right.
    assert "0.0% (0%) | 0.0% (0%) | 0.0% (0%) | 0% | 0%" in told[2]


def test_rents_are_dollars_of_an_hour_of_one_card() -> None:
    usd = rents()
    assert 1 < usd["h100-sxm"] < usd["b200"] < 20


def test_a_peer_is_judged_where_it_predicted_all_runs() -> None:
    question = asked("cheapest", 0.020, SLOW, FAST)
    other = asked("cheapest", 0.020, FAST, run("unknown", 2.0, 0.015, 0.015))
    told = {"slow": (0.010, 1000.0), "fast": (0.009, 1000.0)}
    (common,) = beside([question, other], told)
    assert chosen(common, PEER) is not None
    assert outcome(common, PEER).is_broken
    assert outcome(common, "planopt, 80 %").regret == 0
    assert len(lines_of(outcomes([common], (PEER,)), (PEER,))) == 3
    # What it refuses to predict it does not take, however cheap or fast.
    for objective in ("cheapest", "fastest", "tokens per dollar"):
        question = asked(objective, 9.0, SLOW, FAST)
        (common,) = beside([question], {"slow": (inf, 0.0), "fast": (0.5, 1.0)})
        assert (chosen(common, PEER) or SLOW).row == "fast"
        (common,) = beside([question], dict.fromkeys(("slow", "fast"), (inf, 0.0)))
        assert chosen(common, PEER) is None


def test_a_peer_is_asked_of_whole_groups() -> None:
    path = bundled_folder() / "measurements" / "inference.csv"
    row = structs.replace(
        read_rows(path, (ServingRow,))[0],
        model="gpt-oss-120b",
        weight_format="published",
        accelerator="b200",
        users=8,
    )
    rows = [
        structs.replace(row, id=f"{users}-{tp}", users=users, tp=tp)
        for users in (4, 8, 16)
        for tp in (1, 2, 4)
    ]
    # One of the runs of 16 users is of a card that is not known there.
    rows[-1] = structs.replace(rows[-1], accelerator="mi300x")
    found = groups_of(rows, 6, 7)
    assert {each.users for each in found} == {4, 8}
    assert len(groups_of(rows, 5, 7)) == 3
    engine = (asked_of(rows[1]) or {})["engine"]
    assert isinstance(engine, dict)
    parallelism = engine["workers"]["aggregated"]["parallelism"]
    assert (parallelism["tensor"], parallelism["moe_tensor"]) == (2, 2)
