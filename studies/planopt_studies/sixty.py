"""Sixty questions drawn by a seeded generator, and whether what answers them holds.

Twelve are cases that were wrong in 0.1, the others are drawn over models, accelerators,
loads and limits, eight of each class. What is bought is run again with a seed that
nothing was chosen by: no more requests may be late than the percentile leaves out.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from planopt.catalog.open import open_catalog
from planopt.documents.plan import Plan
from planopt.options import Asked, table
from planopt.planning.pipeline import Serving
from planopt.procurement.solver import Solver
from planopt.serving.load import Trial, of_deployment, of_pools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt.catalog.open import Catalog
    from planopt.documents.evaluation import Deployment, Transfer
    from planopt.loads import Latencies
    from planopt.serving.question_types import Problem

SEED: Final = 2026
UNUSED_SEED: Final = 90_210
JUDGED_REQUESTS: Final = 100_000
SECONDS_OF_A_COMMAND: Final = 300
OF_A_CLASS: Final = 8
OF_SESSIONS: Final = 10
"""Beside the sixty."""

CASES: Final = Path(__file__).with_name("sixty_cases.txt")
"""Of the issue, in the words of today."""

SMALL: Final = ("llama-3.1-8b", "qwen2.5-7b", "qwen3-30b-a3b", "llama-2-13b")
MIDDLE: Final = ("llama-3.1-70b", "qwen3-32b", "gpt-oss-120b", "mixtral-8x7b")
LARGE: Final = ("qwen3-235b-a22b", "deepseek-v3", "llama-3.1-405b", "glm-4.5")
DESKTOP: Final = ("rtx-3090", "rtx-4090", "rtx-5090", "rtx-6000-ada", "m2-ultra")
RACK: Final = ("l40s", "a100-sxm-80", "h100-sxm", "h200-sxm", "b200", "mi300x")


class Question(NamedTuple):
    """A command, and of which class it is."""

    kind: str
    command: str


class Outcome(NamedTuple):
    """What came of a question."""

    code: int
    status: str
    price: float | None
    gap: float | None
    cpu_seconds: float
    simulations: int
    requests: int
    late: float | None
    """Share of late requests with the unused seed, less what is allowed."""


def drawn(seed: int) -> list[Question]:
    """Draw the questions of a seed; the cases come first."""
    draw = random.Random(seed)
    found = [Question("case", command) for command in CASES.read_text().splitlines()]
    makers = {
        "hobby": _hobby,
        "startup": _startup,
        "enterprise": _enterprise,
        "rented": _rented,
        "training": _training,
        "fleet": _fleet,
    }
    for kind, make in makers.items():
        found += [Question(kind, make(draw)) for _ in range(OF_A_CLASS)]
    found += [Question("sessions", _sessions(draw)) for _ in range(OF_SESSIONS)]
    return found


def _lengths(draw: random.Random) -> str:
    prompt = draw.choice((200, 500, 1000, 2000, 4000, 8000))
    return f"--isl {prompt} --osl {draw.choice((100, 250, 500, 1000))}"


def _promises(draw: random.Random) -> str:
    ttft = draw.choice(("500ms", "1s", "2s", "5s"))
    target = draw.choice((8, 12, 15, 20, 30))
    percentile = draw.choice(("", "", " --percentile p50", " --percentile p99"))
    return f"--ttft {ttft} --target {target}tok/s{percentile}"


def _some(draw: random.Random, names: tuple[str, ...], most: int) -> str:
    chosen = sorted(draw.sample(names, draw.randint(1, most)))
    return f"--accelerators {','.join(chosen)}"


def _hobby(draw: random.Random) -> str:
    model = draw.choice((*SMALL, *MIDDLE))
    target = f"--target {draw.choice((5, 8, 10, 15, 25))}tok/s"
    budget = draw.choice(("", f" --budget {draw.choice((1500, 4000, 8000, 20000))}"))
    users = draw.choice(("", f" --concurrency {draw.randint(1, 6)} --ttft 5s"))
    cards = draw.choice(("", f" {_some(draw, DESKTOP, 3)}"))
    power = draw.choice(("", "", " --max-power 1500W"))
    return f"solve --model {model} {target}{budget}{users}{cards}{power}"


def _startup(draw: random.Random) -> str:
    model = draw.choice((*SMALL, *MIDDLE))
    rate = draw.choice((0.5, 1, 2, 4, 8))
    cards = draw.choice(("", f" {_some(draw, RACK, 3)}"))
    objective = draw.choice(("", "", " throughput", " cost-per-token"))
    limit = f" --max-accelerators {draw.choice((4, 8, 16))}"
    load = f"--request-rate {rate}/s " if not objective else ""
    said = f"{load}{_lengths(draw)} {_promises(draw)}"
    best = f"{limit} --objective{objective}" if objective else ""
    return f"solve --model {model} {said}{cards}{best}"


def _enterprise(draw: random.Random) -> str:
    model = draw.choice((*MIDDLE, *LARGE))
    load = draw.choice(
        (
            f"--request-rate {draw.choice((5, 20, 50))}/s",
            f"--concurrency {draw.choice((64, 256, 1000))}",
        )
    )
    spare = draw.choice(("", "", " --redundancy 1"))
    cards = draw.choice(("", f" {_some(draw, RACK, 3)}"))
    said = f"{load} {_lengths(draw)} {_promises(draw)}"
    return f"solve --model {model} --weights fp8 {said} --datacenter{spare}{cards}"


def _rented(draw: random.Random) -> str:
    model = draw.choice((*SMALL, *MIDDLE))
    rate = draw.choice((1, 3, 10, 30))
    acquire = draw.choice(("rent", "rent", "both"))
    load = f"--request-rate {rate}/s {_lengths(draw)} {_promises(draw)}"
    return f"solve --model {model} --procurement {acquire} {load}"


def _sessions(draw: random.Random) -> str:
    model = draw.choice((*SMALL, *MIDDLE, *LARGE))
    workload = draw.choice(("agentic-coding", "assistant", "rag-chat"))
    load = f"--workload {workload} --sessions {draw.choice((20, 50, 200, 1000))}"
    ttft = draw.choice(("2s", "5s", "10s"))
    promises = f"--ttft {ttft} --target {draw.choice((15, 30))}tok/s"
    tier = draw.choice(("", "", " --host-cache 1TB", " --extra-memory 2TB"))
    router = draw.choice(("", "", "", " --router hash", " --router cache-aware"))
    said = f"{load} {promises}{tier}{router} {_some(draw, RACK, 2)}"
    return f"solve --model {model} --weights fp8 --datacenter {said}"


def _training(draw: random.Random) -> str:
    model, tokens = draw.choice(
        (
            ("llama-3.1-8b", "15B"),
            ("llama-3.1-8b", "1T"),
            ("qwen3-32b", "200B"),
            ("mixtral-8x7b", "100B"),
            ("llama-2-70b", "100B"),
            ("qwen3-30b-a3b", "500B"),
        )
    )
    cards = draw.choice(("", f" {_some(draw, RACK, 3)}"))
    acquire = draw.choice(("", " --procurement rent"))
    days = draw.choice((14, 30, 60, 90))
    return f"train --model {model} --tokens {tokens} --deadline {days}d{cards}{acquire}"


def _fleet(draw: random.Random) -> str:
    """Draw a fleet; its file stands behind the command, behind a line."""
    periods, budget = draw.randint(1, 4), draw.choice((1, 3, 10))
    lines = [f'[horizon]\nperiods = {periods}\nbudget = "${budget}M"']
    regions = ["us", "eu"][: draw.randint(1, 2)]
    for region in regions:
        dollars = draw.choice((0.06, 0.10, 0.15))
        lines.append(f'[[region]]\nname = "{region}"\nelectricity = "${dollars}/kWh"')
    lines.append('[[class]]\nname = "answers"\ntarget = "15 tok/s"\nttft = "3 s"')
    for place in range(draw.randint(1, 3)):
        model = draw.choice((*SMALL, *MIDDLE))
        lines.append(
            f'[[workload]]\nname = "load-{place}"\nmodel = "{model}"\n'
            f'class = "answers"\ngrowth = {draw.choice((0.0, 0.3, 0.8))}\n'
            f"failures = {draw.randint(0, 1)}\n"
            '[[workload.size]]\nname = "all"\nshare = 1.0\n'
            f"prompt = {draw.choice((500, 2000, 6000))}\noutput = 300"
        )
        lines += [
            f'[[workload.demand]]\nregion = "{region}"\n'
            f'requests = "{draw.choice((2, 8, 20))}/s"'
            for region in regions
        ]
    for card in draw.sample(RACK, 2):
        lines.append(f'[[buy]]\naccelerator = "{card}"\nhost = "hgx-8"\nstock = 400')
    return "fleet\n" + "\n".join(lines)


def asked(command: str, folder: Path) -> Outcome:
    """Ask a question as on the command line, and run what is bought again."""
    file = folder / "plan.json"
    file.unlink(missing_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    head, _, toml = command.partition("\n")
    if toml:
        (folder / "fleet.toml").write_text(toml)
        head += f" {folder / 'fleet.toml'}"
    tool = str(Path(sys.executable).with_name("planopt"))
    words = [tool, *head.split(), "--json"]
    with file.open("wb") as out:
        code = subprocess.run(
            words, stdout=out, stderr=subprocess.DEVNULL, check=False,
            timeout=SECONDS_OF_A_COMMAND,
        ).returncode  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = msgspec.json.decode(file.read_bytes() or b"{}")
    status = "/".join(filter(None, (said.get("status", "?"), said.get("why"))))
    search = said.get("search") or {}
    hourly = (said.get("cost") or {}).get("usd_per_hour")
    return Outcome(
        code=code,
        status=status,
        price=said.get("price_usd") or hourly,
        gap=said.get("gap"),
        cpu_seconds=seconds,
        simulations=search.get("simulations") or 0,
        requests=search.get("requests") or 0,
        late=late_share(
            command, msgspec.json.decode(file.read_bytes(), type=Plan, strict=False)
        )
        if code == 0 and command.startswith("solve")
        else None,
    )


def late_share(command: str, plan: Plan) -> float | None:
    """Run a plan with the unused seed under the load of a command: late, less allowed.

    Training and fleets are not run.
    """
    catalog = open_catalog()
    problem = Serving().read(spoken(command), catalog, Solver()).problem
    if problem.percentile is None:
        return None
    catalog = problem.counted(catalog)
    allowed = 1 - float(problem.percentile[1:]) / 100
    late = 0.0
    for report in _runs(plan, catalog, problem):
        if report is None or report.overloaded or report.slo_violation is None:
            return 1.0
        late = max(late, report.slo_violation.ttft.mean, report.slo_violation.tpot.mean)
    return late - allowed


def _runs(plan: Plan, catalog: Catalog, problem: Problem) -> Iterator[Latencies | None]:
    """Run what is bought: two pools as a whole, others by their shares of the load."""
    trial = Trial(JUDGED_REQUESTS, UNUSED_SEED)
    if plan.transfer is not None:
        users, rate = plan.totals.concurrency or 0, plan.totals.requests_per_second
        two = _Two(plan.deployments, plan.transfer, users, rate)
        yield trial.of(catalog, problem, of_pools(problem, two))
        return
    loads = [_load(each) for each in plan.deployments]
    for each, of_it in zip(plan.deployments, loads, strict=True):
        tried = of_deployment(problem, each, of_it / sum(loads))
        yield trial.of(catalog, problem, tried)


class _Two(NamedTuple):
    """Two pools of a plan."""

    deployments: tuple[Deployment, ...]
    transfer: Transfer
    users: int
    requests_per_second: float | None


def _load(deployment: Deployment) -> float:
    load = deployment.evaluation.under_load
    return float((load and (load.users or load.requests_per_second)) or 1)


def spoken(command: str) -> Asked:
    """Read the words of a command line as keywords of the API."""
    options = {option.flag: option for option in table().options}
    name, *words = command.split()
    given: dict[str, object] = {}
    while words:
        option = options[words.pop(0)]
        given[option.argument] = option.kind == "switch" or words.pop(0)
    return Asked.by_user(name, given)


def _line(place: int, question: Question, came: Outcome) -> str:
    late = "" if came.late is None else f"{100 * came.late:+.2f}"
    price = "" if came.price is None else f"{came.price:,.2f}"
    gap = "" if came.gap is None else f"{100 * came.gap:.1f}"
    told = f"{came.cpu_seconds:7.2f} {came.simulations:6} {came.requests:10} {late:>7}"
    said = " ".join(question.command.split())
    what = f"{place:2} {question.kind:10} {came.code:3} {came.status:18}"
    return f"{what} {price:>14} {gap:>6} {told}  {said[:160]}"


def main() -> None:
    """Ask the questions of a seed, and print a line for each."""
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--seed", type=int, default=SEED)
    read.add_argument("--only", type=int, nargs="*", default=[])
    told = read.parse_args()
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        for place, question in enumerate(drawn(told.seed), 1):
            if told.only and place not in told.only:
                continue
            came = asked(question.command, Path(folder))
            seconds.append(came.cpu_seconds)
            print(_line(place, question, came), flush=True)
    seconds.sort()
    middle, most = seconds[len(seconds) // 2], seconds[int(0.95 * len(seconds))]
    print(f"CPU s: median {middle:.2f}, p95 {most:.2f}, worst {seconds[-1]:.2f}")


if __name__ == "__main__":
    main()
