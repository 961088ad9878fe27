"""Ten questions beside AISimulate: what it predicts of our plan, what it would take.

It is run as it is installed, by its command line; nothing of it is read. A replica of
each deployment of our plan is predicted there under its own part of the traffic, and
the same question is asked of its search (fewest accelerators for a rate within two
promises; it was not seen to end, so that what is read of its answer is not tried).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from planopt.documents.parts import degrees
from planopt.planning.pipeline import Serving, answered
from planopt_studies.sixty import spoken

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.documents.evaluation import Deployment, Percentiles
    from planopt.documents.plan import Plan

REQUESTS: Final = 2_000
SECONDS: Final = 300
"""Of a command of theirs, unless another number is given."""
MOST_ACCELERATORS: Final = 16
CARRIED: Final = 0.95
"""Share of the rate that has to be answered in time: our percentile."""
ONE_POOL: Final = Path(__file__).with_name("peers_mode.txt").read_text().strip()
"""Their word for replicas that both read and answer."""
MODELS: Final = {
    ("llama-3.1-70b", "fp8"): "nvidia/Llama-3.1-70B-Instruct-FP8",
    ("llama-3.1-8b", "bf16"): "meta-llama/Meta-Llama-3.1-8B",
    ("qwen3-32b", "bf16"): "Qwen/Qwen3-32B",
    ("qwen3-32b", "fp8"): "Qwen/Qwen3-32B-FP8",
    ("qwen3-235b-a22b", "fp8"): "Qwen/Qwen3-235B-A22B-FP8",
}


class Question(NamedTuple):
    """A load on one kind of accelerator under one engine."""

    accelerator: str
    engine: str
    model: str
    weights: str
    rate: float
    prompt: int
    output: int
    ttft: float
    target: int

    @property
    def command(self) -> str:
        """As our command line asks it."""
        return (
            f"solve --model {self.model} --weights {self.weights} "
            f"--accelerators {self.accelerator} --engine {self.engine} --datacenter "
            f"--request-rate {self.rate}/s --isl {self.prompt} --osl {self.output} "
            f"--ttft {self.ttft}s --target {self.target}tok/s"
        )

    def traffic(self, rate: float) -> dict[str, object]:
        """Put a part of it as they take it."""
        source = {"input_tokens": self.prompt, "output_tokens": self.output}
        return {
            "source": {"type": "synthetic", **source},
            "load": {"type": "poisson", "requests_per_second": rate},
            "stop": {"requests": REQUESTS},
        }

    def served(self, parallelism: Mapping[str, object]) -> dict[str, object]:
        """Put an engine as they take it."""
        return {
            "mode": ONE_POOL,
            "model": MODELS[self.model, self.weights],
            "hardware": self.hardware,
            "backend": self.engine,
            "context_length": self.prompt + self.output,
            "workers": {ONE_POOL: {"parallelism": parallelism}},
        }

    @property
    def hardware(self) -> str:
        """Their name of the accelerator."""
        return f"{self.accelerator.removesuffix('-sxm')}_sxm"


QUESTIONS: Final = (
    Question("h100-sxm", "vllm", "llama-3.1-70b", "fp8", 2, 2000, 500, 1, 20),
    Question("h100-sxm", "trtllm", "llama-3.1-70b", "fp8", 6, 1000, 300, 1, 30),
    Question("h100-sxm", "sglang", "qwen3-32b", "fp8", 4, 2000, 500, 1, 30),
    Question("h100-sxm", "vllm", "llama-3.1-8b", "bf16", 10, 800, 200, 0.5, 40),
    Question("h200-sxm", "vllm", "qwen3-235b-a22b", "fp8", 3, 4000, 500, 2, 20),
    Question("h200-sxm", "trtllm", "llama-3.1-70b", "fp8", 8, 3000, 500, 2, 25),
    Question("h200-sxm", "sglang", "qwen3-32b", "bf16", 10, 1000, 200, 1, 30),
    Question("b200", "vllm", "llama-3.1-8b", "bf16", 30, 1000, 200, 0.5, 50),
    Question("b200", "trtllm", "qwen3-32b", "fp8", 20, 2000, 300, 1, 30),
    Question("b200", "sglang", "qwen3-235b-a22b", "fp8", 5, 2000, 500, 2, 30),
)


class Peer(NamedTuple):
    """Their command, and a folder for what it writes."""

    tool: str
    folder: Path
    seconds: float

    def asked(self, door: str, config: Mapping[str, object]) -> dict[str, Any] | str:
        """Ask one question: their answer, or the first line of what they say."""
        file = self.folder / f"{door}.json"
        file.write_text(json.dumps(config))
        words = [self.tool, door, "--config", str(file), "--format", "json"]
        words += ["--output-dir", str(self.folder / door), "--overwrite"]
        try:
            came = subprocess.run(
                words, capture_output=True, text=True, check=False, timeout=self.seconds
            )
        except subprocess.TimeoutExpired:
            return f"no answer in {self.seconds:g} s"
        if not came.stdout.strip():
            return (came.stderr.strip().splitlines() or ["nothing"])[0]
        return dict(json.loads(came.stdout))

    def predicted(self, asked: Question, of: Deployment, rate: float) -> str:
        """Predict one of our replicas under its rate."""
        one = of.candidate
        ranks = one.tp * one.dp
        parallelism = {
            "replicas": 1,
            "tensor": one.tp,
            "pipeline": one.pp,
            "attention_data": one.dp,
            "moe_tensor": ranks // one.ep if "a22b" in asked.model else 1,
            "moe_expert": one.ep,
        }
        served = asked.served(parallelism)
        config = {"traffic": asked.traffic(rate), "engine": served}
        return _told(self.asked("predict", config))

    def recommended(self, asked: Question) -> str:
        """Ask their search for the fewest accelerators."""
        served = asked.served({"preset": "default"})
        config = {
            "traffic": asked.traffic(asked.rate),
            "engine": served,
            "evaluation": {
                "sla": {"ttft_ms": 1000 * asked.ttft, "itl_ms": 1000 / asked.target}
            },
            "optimization": {
                "target": "min_gpus",
                "constraints": {
                    "max_candidate_gpus": MOST_ACCELERATORS,
                    "min_goodput_rps": CARRIED * asked.rate,
                },
            },
        }
        started = time.monotonic()
        came = self.asked("recommend", config)
        took = time.monotonic() - started
        if isinstance(came, str):
            return f"{came} ({took:.0f} s)"
        return f"{_best(came)} ({took:.0f} s)"


def _told(came: dict[str, Any] | str) -> str:
    """Tell what a prediction says."""
    if isinstance(came, str):
        return came
    rate, tokens = came["request_throughput_rps"], came["output_throughput_tok_s"]
    return (
        f"{rate:.2f}/s {tokens:,.0f} tok/s, TTFT p95 {came['p95_ttft_ms']:.0f} ms, "
        f"TPOT p95 {came['p95_tpot_ms']:.1f} ms"
    )


def _best(came: Mapping[str, Any]) -> str:
    """Tell what their search puts first."""
    candidates = came.get("selected_candidates") or came.get("candidates") or []
    if not candidates:
        return f"none of {came.get('counts')}"
    best = candidates[0]
    return f"{best.get('used_gpus')} accelerators, {json.dumps(best.get('config'))}"


def _ours(plan: Plan, took: float) -> str:
    """Tell what we buy."""
    if plan.status == "infeasible":
        return f"infeasible ({took:.1f} s)"
    layouts = "; ".join(map(_layout, plan.deployments))
    load = plan.deployments[0].evaluation
    ttft, tpot = (_p95(each) for each in (load.ttft_seconds, load.tpot_seconds))
    what = f"{plan.status} ${plan.price_usd:,.0f}, {layouts}"
    return f"{what}: TTFT p95 {ttft:.0f} ms, TPOT p95 {tpot:.1f} ms ({took:.1f} s)"


def _layout(of: Deployment) -> str:
    one = of.candidate
    divided = degrees(tp=one.tp, pp=one.pp, dp=one.dp, ep=one.ep)
    return f"{of.replicas}x {divided} {of.role}"


def _p95(of: Percentiles | None) -> float:
    """Milliseconds."""
    return 1000 * ((of.p95 if of else None) or 0.0)


def main() -> None:
    """Ask both, and print three lines for each question."""
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("tool", help="their executable")
    read.add_argument("--only", type=int, nargs="*", default=[])
    read.add_argument("--seconds", type=float, default=SECONDS)
    read.add_argument("--no-search", action="store_true")
    told = read.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        peer = Peer(told.tool, Path(folder), told.seconds)
        for place, asked in enumerate(QUESTIONS, 1):
            if told.only and place not in told.only:
                continue
            started = time.monotonic()
            plan = answered(Serving(), spoken(asked.command))
            took = time.monotonic() - started
            print(f"{place} {asked.command}\n  ours {_ours(plan, took)}", flush=True)
            for each in plan.deployments:
                load = each.evaluation.under_load
                rate = (load and load.requests_per_second) or asked.rate
                of_one = rate / each.replicas
                theirs = peer.predicted(asked, each, of_one)
                print(f"  of a replica at {of_one:.2f}/s: {theirs}", flush=True)
            if not told.no_search:
                print(f"  theirs {peer.recommended(asked)}", flush=True)


if __name__ == "__main__":
    main()
