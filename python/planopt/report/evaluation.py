"""One evaluated configuration on the screen, serving or training."""

from planopt.documents.evaluation import EvaluationDocument
from planopt.documents.training import TrainingDocument
from planopt.price_sources import is_rough
from planopt.report import parts
from planopt.report.derivation import derivation
from planopt.report.first import assumptions, cost_line, hardware, length, speed, times
from planopt.report.money import money
from planopt.report.numbers import count, milliseconds, size
from planopt.report.screen import Ends, Parts, flagged, predictions, whole
from planopt.report.style import UNKNOWN, bad, faint, good, warn
from planopt.report.table import Block, Report, Section, Sentence
from planopt.report.training import layers, run_lines, training_layout, work


def render_evaluation(
    evaluation: EvaluationDocument | TrainingDocument, *, details: bool = False
) -> Report:
    """Lay the first screen of an evaluation out, or all that is known of it."""
    explained = Section("", *derivation(evaluation.derivation))
    does = _run(evaluation) if evaluation.kind == "training" else _load(evaluation)
    told = [*does, *_paid(evaluation)]
    screen: list[Block] = [
        *_verdict(evaluation),
        "",
        *(whole(told) if details else told),
        *([""] if evaluation.bill_of_materials else []),
        *assumptions(evaluation.assumed, evaluation.warnings),
        Ends("", faint("--details · --explain · --json")),
    ]
    more = _details(evaluation) if details else []
    return Report(*screen, *more, explained)


def _verdict(evaluation: EvaluationDocument | TrainingDocument) -> list[Block]:
    """Say whether it fits, of what it is, and what it costs."""
    load = None if evaluation.kind == "training" else evaluation.under_load
    sign, said, colour = "✔", "fits", good
    if not evaluation.feasible:
        sign, said, colour = "✘", "does not fit", bad
    elif load is not None and load.overloaded:
        sign, said, colour = "✘", "OVERLOADED", bad
    bill, candidate = evaluation.bill_of_materials, evaluation.candidate
    what = hardware(bill) or candidate.accelerator
    of = evaluation.model or UNKNOWN
    if evaluation.kind == "training":
        way, used = training_layout(evaluation.candidate), evaluation.accelerators
    else:
        of += f" under {evaluation.engine}" if evaluation.engine else ""
        way = parts.layout(evaluation.candidate)
        used = evaluation.candidate.accelerators * evaluation.replicas
    bought = sum(line.quantity for line in bill if line.kind == "accelerator")
    what = f"{count(used)} of {what}" if used and bought > used else what
    over = f" over {evaluation.hardware.network}" if evaluation.hardware.network else ""
    usd = evaluation.cost.price_usd
    paid = "" if usd is None else money(usd, rough=is_rough(bill), whole=True)
    return [
        Ends(f"{sign} {said}: {what}", paid, flagged(f"{sign} {said}", colour)),
        Ends(f"  {of} · {times(way)}{over}"),
        *(
            Sentence(f"{each.code}: {each.message}", "! ", "  ", first=warn)
            for each in evaluation.rejections
        ),
    ]


def _run(evaluation: TrainingDocument) -> list[Block]:
    rows = [length(evaluation)] if evaluation.days else []
    lines = run_lines(evaluation, rough=is_rough(evaluation.bill_of_materials))
    return [predictions("PREDICTED RUN", rows), *lines]


def _load(evaluation: EvaluationDocument) -> list[Block]:
    """Show latencies under a load, and where none was simulated the speed of a step."""
    load = evaluation.under_load
    shown: list[Block] = []
    simulated = load is not None and load.by == "simulation" and not load.overloaded
    if evaluation.decode.tokens_per_second_per_user and not simulated:
        shown.append(predictions("A STEADY STEP", [speed(evaluation)]))
    shown += parts.under_load(evaluation)
    does = [*parts.time_and_memory(evaluation), parts.prompt_line(evaluation)]
    return [*shown, *does, *_prefill_pool(evaluation)]


def _paid(evaluation: EvaluationDocument | TrainingDocument) -> list[Block]:
    """Say what it costs to run, and what is bought."""
    of, power, tokens = evaluation.cost, evaluation.power_watts, None
    if evaluation.kind == "serving":
        tokens = of.usd_per_million_tokens
    bill = evaluation.bill_of_materials
    bought = [
        f"{count(line.quantity)} × {line.name} {money(line.price_usd, whole=True)}"
        for line in bill
    ]
    rough = is_rough(bill)
    return [
        cost_line(of.price_usd, of.usd_per_hour, tokens, power, rough=rough),
        Parts("Parts", bought),
    ]


def _details(evaluation: EvaluationDocument | TrainingDocument) -> list[Block]:
    """Show what else it does, the bill, and all that was assumed."""
    does: list[Block] = []
    if evaluation.kind == "training":
        does = [*layers(evaluation.mixed), "", *work(evaluation)]
    return [
        *does,
        Section("", parts.bill(evaluation.bill_of_materials)),
        parts.assumed(evaluation.assumed),
        parts.warnings(evaluation.warnings),
    ]


def _prefill_pool(evaluation: EvaluationDocument) -> list[Block]:
    """Say what the prefill pool is, where there is one."""
    pool, way = evaluation.prefill_pool, evaluation.transfer
    if pool is None or way is None:
        return []
    over = f"over {way.network}" if way.network else "inside of the host"
    seconds = pool.evaluation.prefill.seconds if pool.evaluation else None
    candidate = pool.candidate
    said = (
        f"Prompts are read by {pool.replicas}x {candidate.layout} of "
        f"{candidate.accelerator} in {pool.host}, {milliseconds(seconds)} each; their "
        f"cache of {size(way.bytes)} takes {milliseconds(way.seconds)} {over}. Its "
        "hardware is not in the bill."
    )
    return [Sentence(said, " ", "  ")]
