"""Prompts taken as cold: who is told, and that what is told is an evaluation."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.cli import main
from planopt.planning.warnings import COLD_PROMPT_TOKENS

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.documents.evaluation import EvaluationDocument
    from planopt.documents.plan import Plan

LONG: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "prompt": 2 * COLD_PROMPT_TOKENS,
    "output": 200,
}
CARD: dict[str, Any] = {**LONG, "accelerator": "h100-sxm"}


def cold(answer: Plan | EvaluationDocument) -> str | None:
    """Return what is said of cold prompts, once at most."""
    said = [each.message for each in answer.warnings if each.code == "W012"]
    assert len(said) < 2
    return said[0] if said else None


def waits(message: str) -> list[float]:
    """Read the times to the first token: cold, of 50 % and of 95 % found."""
    found = re.findall(r"TTFT (?:of a single user )?([0-9.,]+) s", message)
    return [float(each.replace(",", "")) for each in found]


@pytest.mark.parametrize("load", [{"users": 4}, {"requests": "0.2/s"}])
def test_an_evaluation_says_what_the_same_load_does_with_hits(
    load: dict[str, Any],
) -> None:
    message = cold(planopt.evaluate(**CARD, **load))
    assert message is not None
    assert message.startswith("prompts taken as cold: all 16,384 tokens")

    for wait, hits in zip(waits(message), (None, "50%", "95%"), strict=True):
        found = planopt.evaluate(**CARD, **load, prefix_hit_rate=hits)
        assert wait == pytest.approx(found.ttft_seconds.p95, rel=5e-3)
    assert "tok/s" in message if "users" in load else "requests/s" in message


@pytest.mark.parametrize(
    "told",
    [
        {"prefix_hit_rate": "40%"},
        {"prompt": COLD_PROMPT_TOKENS},
    ],
)
def test_known_hits_and_short_prompts_are_not_warned_of(told: dict[str, Any]) -> None:
    assert cold(planopt.evaluate(**{**CARD, "users": 2, **told})) is None


def test_an_evaluation_without_a_load_is_of_no_prompts() -> None:
    assert cold(planopt.evaluate(**CARD)) is None


def test_prompts_of_own_traffic_count_by_their_mean(tmp_path: Path) -> None:
    for long, told in ((30_000, True), (12_000, False)):
        file = tmp_path / f"{long}.csv"
        rows = [f"{prompt},50" for prompt in (100, long)]
        file.write_text("\n".join(["prompt,output", *rows]))
        answer = planopt.evaluate(
            **CARD, concurrency=2, max_model_len=32_000, traffic=str(file)
        )
        assert (cold(answer) is not None) == told


def test_a_plan_judged_under_a_load_is_simulated_with_hits() -> None:
    plan = planopt.solve(
        **LONG,
        accelerators="h100-sxm",
        target="20tok/s",
        ttft="4s",
        concurrency=8,
        top=1,
    )
    message = cold(plan)
    assert message is not None
    (deployment,) = plan.deployments
    as_bought = deployment.evaluation.ttft_seconds.p95
    none, half, most = waits(message)
    assert none == pytest.approx(as_bought, rel=5e-3)
    assert none > half > most
    assert message.count("tok/s") == 3


def test_a_plan_for_a_rate_says_which_rate_it_would_carry() -> None:
    message = cold(
        planopt.solve(
            **LONG, accelerators="h100-sxm", ttft="4s", request_rate="0.5/s", top=1
        )
    )
    assert message is not None
    rates = [float(each) for each in re.findall(r"at most ([0-9.]+) req", message)]
    assert rates == sorted(rates)
    assert len(rates) == 3
    assert rates[0] > 0.5


def test_a_steady_plan_says_how_long_a_single_user_waits() -> None:
    plan = planopt.solve(**LONG, accelerators="h100-sxm", load="steady", top=1)
    message = cold(plan)
    assert message is not None
    (deployment,) = plan.deployments
    tp, host = deployment.candidate.tp, deployment.hardware.host
    for wait, hits in zip(waits(message), (None, "50%", "95%"), strict=True):
        alone = planopt.evaluate(
            **CARD,
            tp=tp,
            host=host,
            concurrency=1,
            load="benchmark",
            prefix_hit_rate=hits,
        )
        assert wait == pytest.approx(alone.ttft_seconds.mean, rel=0.1)


def test_a_comparison_says_which_accelerator_is_meant() -> None:
    for plan in planopt.compare(**LONG, accelerators="h100-sxm,l40s", top=1):
        accelerator = plan.deployments[0].candidate.accelerator
        assert f"(on {accelerator}, 0% found: " in str(cold(plan))


def test_a_plan_of_short_prompts_says_nothing() -> None:
    assert cold(planopt.solve(target="5tok/s", top=1)) is None


@pytest.mark.parametrize(
    "command",
    [
        ("solve", "--accelerators", "h100-sxm"),
        ("compare", "--accelerators", "h100-sxm,h200-sxm"),
        ("evaluate", "serving", "--accelerator", "h100-sxm", "--concurrency", "2"),
    ],
)
def test_it_is_told_as_text_and_in_json(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = (*command, "--model", "llama-3.1-8b", "--isl", "16384")
    with pytest.raises(SystemExit):
        main([*asked, "--osl", "200", "--details"])
    text = " ".join(capsys.readouterr().out.split())
    assert "warning[W012]: prompts taken as cold: all 16,384 tokens" in text

    with pytest.raises(SystemExit):
        main([*asked, "--osl", "200", "--json"])
    answer = json.loads(capsys.readouterr().out)
    for each in answer if isinstance(answer, list) else [answer]:
        assert "W012" in {warning["code"] for warning in each["warnings"]}


def test_whoever_says_that_nothing_is_found_is_not_warned() -> None:
    evaluation = planopt.evaluate_serving(
        **CARD, request_rate="0.2/s", prefix_hit_rate="0%"
    )
    assert evaluation.under_load is not None
    assert "W012" not in {warning.code for warning in evaluation.warnings}
