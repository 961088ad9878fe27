"""What the search leaves out, and what that costs: each limit of the space, lifted.

A question is asked as anybody would, and with what no search tries by itself. The price
that lifting it takes off is what the space costs who asks no more than that. Steady
steps, so that no run and no clock decides.
"""

from __future__ import annotations

import argparse
import statistics
from typing import TYPE_CHECKING, Final, NamedTuple

from planopt.planning.pipeline import Serving, Training, answered
from planopt_studies.offloaded import run_price, serving_price
from planopt_studies.sixty import spoken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


SERVING: Final = (
    "--model llama-3.1-8b --target 20tok/s --concurrency 32",
    "--model llama-2-70b --target 5tok/s --concurrency 4",
    "--model qwen3-32b --target 15tok/s --concurrency 64",
    "--model gpt-oss-120b --target 20tok/s --concurrency 32",
    "--model llama-3.1-70b --weights fp8 --target 20tok/s --concurrency 64",
    "--model qwen3-235b-a22b --weights fp8 --target 15tok/s --concurrency 64",
)
PER_TOKEN: Final = tuple(
    f"--model {model} --concurrency 64 --budget 100000 "
    f"--objective cost-per-token --accelerators rtx-4090"
    for model in ("llama-3.1-8b", "qwen3-32b", "gpt-oss-20b")
)
GGUF: Final = "--weights q4_k_m --engine llama-cpp"
UNPROMISED: Final = tuple(
    f"--model {model} --target 1tok/s --concurrency 1"
    for model in (
        "llama-2-70b",
        f"llama-3.1-70b {GGUF}",
        "gpt-oss-120b",
        f"qwen3-235b-a22b {GGUF}",
        "qwen3-235b-a22b --weights fp8",
        f"qwen3-30b-a3b {GGUF}",
    )
)
"""No speed is asked for that anybody would notice: there offload pays, if anywhere."""
SMALL_RUNS: Final = tuple(
    f"--model {model} --tokens {tokens} --global-batch 64 --seq-len 4096 "
    f"--deadline {deadline} --redundancy 0"
    for model, tokens, deadline in (
        ("llama-3.2-1b", "1B", "20d"),
        ("llama-2-7b", "100M", "10d"),
        ("llama-2-7b", "1B", "10d"),
        ("llama-2-13b", "300M", "30d"),
        ("qwen3-32b", "100M", "30d"),
        ("llama-2-70b", "100M", "60d"),
    )
)
RUNS: Final = (
    "--model llama-2-7b --tokens 100B --deadline 30d",
    "--model llama-3.1-70b --tokens 500B --deadline 60d --datacenter",
)


class Limit(NamedTuple):
    """A limit of the space, and each way in which it is lifted."""

    name: str
    loss_then: str
    """What the audit of 0.1 measured, of questions of its own."""
    questions: Sequence[str]
    lifted: Sequence[str] | Callable[[str], float | None]
    """Words that lift it; or what finds a price without it."""


LIMITS: Final = (
    Limit(
        "cards at less than their power, where power is not short (`ID@WATTS`)",
        "3-10 % of $/token",
        PER_TOKEN,
        ("@383W", "@315W"),
    ),
    Limit(
        "micro-batches in flight other than the stages (`--in-flight`)",
        "3-12.5 %",
        SERVING,
        (" --in-flight 1", " --in-flight 2"),
    ),
    Limit(
        "two-batch overlap (`--overlap`)",
        "12-15 %",
        SERVING,
        (" --overlap two-batch",),
    ),
    Limit(
        "two-card hosts and others on request (`--host`)",
        "1-22 %",
        SERVING,
        tuple(f" --host {host}" for host in ("desktop-2gpu", "workstation-2gpu")),
    ),
    Limit("used cards (`--condition any`)", "5-15 %", SERVING, (" --condition any",)),
    Limit("stages over TCP (`--allow-odd`)", "-", SERVING, (" --allow-odd",)),
    Limit("uneven pipelines (`--allow-odd`)", "-", RUNS, (" --allow-odd",)),
    Limit(
        "weights in the host's memory (`evaluate serving --offload auto`)",
        "24-39 % where no speed was promised",
        UNPROMISED,
        serving_price,
    ),
    Limit(
        "optimizer and activations there (`evaluate training --offload`)",
        "7-58 %",
        SMALL_RUNS,
        run_price,
    ),
)


def whole(question: str) -> str:
    """Say the command of a question."""
    if "--tokens" in question:
        return f"train {question} --time-limit 60s"
    return f"solve {question} --load steady --time-limit 60s"


def price(question: str) -> float | None:
    """Answer a question, and tell the money that it is about."""
    command = whole(question)
    if command.startswith("train"):
        run = answered(Training(), spoken(command))
        return None if run.status == "infeasible" else run.price_usd
    plan = answered(Serving(), spoken(command))
    if plan.status == "infeasible":
        return None
    per_token = plan.objective == "cost-per-token"
    return plan.usd_per_million_tokens if per_token else plan.price_usd


def left(limit: Limit, known: dict[str, float | None]) -> list[float]:
    """Share of each price that lifting a limit takes off; 0 where it takes nothing."""
    losses = []
    for question in limit.questions:
        if question not in known:
            known[question] = price(question)
        now = known[question]
        if callable(limit.lifted):
            others = [limit.lifted(whole(question))]
        else:
            others = [price(f"{question}{lifted}") for lifted in limit.lifted]
        found = [each for each in others if each is not None]
        if now and found:
            losses.append(max(0.0, 1 - min(found) / now))
    return losses


def main() -> None:
    """Print a table, a limit a row."""
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--only", type=int, nargs="*", default=[])
    told = read.parse_args()
    print("| not searched by itself | in 0.1 | asked | that lose | median | worst |")
    print("|---|---|---:|---:|---:|---:|")
    known: dict[str, float | None] = {}
    for place, limit in enumerate(LIMITS):
        if told.only and place not in told.only:
            continue
        losses = left(limit, known)
        some = sum(loss >= 0.001 for loss in losses)
        middle, worst = statistics.median(losses), max(losses)
        print(
            f"| {limit.name} | {limit.loss_then} | {len(losses)} | {some} "
            f"| {middle:.1%} | {worst:.1%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
