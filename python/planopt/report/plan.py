"""A plan on the screen, serving or training: the answer, why, and what else."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from planopt.documents.evaluation import Disaggregated, Transfer
from planopt.documents.explanations import (
    Alternative,
    Answer,
    Flip,
    PriceRange,
    RentOrBuy,
    Scenarios,
    TrainingAlternative,
    WorthMeasuring,
)
from planopt.documents.plan import Plan, PlanDocument, TrainingPlan
from planopt.documents.training import Renting
from planopt.errors import Diagnostic
from planopt.price_sources import is_rough
from planopt.report import parts
from planopt.report.first import first_screen
from planopt.report.infeasible import nearest
from planopt.report.money import money, money_per_hour, money_per_million
from planopt.report.numbers import (
    count,
    counted,
    days,
    many,
    milliseconds,
    percent,
    rate,
    size,
)
from planopt.report.screen import whole
from planopt.report.style import UNKNOWN, bad, good
from planopt.report.table import Block, Report, Section, Sentence, Table, listed
from planopt.report.training import training_layout, work
from planopt.units import MONTHS_PER_YEAR

_STEADY = (
    "speeds and $/Mtok of this table and the next are those of a steady step at full "
    "context, without prompts between; the plan's own above are under its load"
)


def render_plan(
    plan: Plan | TrainingPlan, *, saved: str | Path | None = None, details: bool = False
) -> Report:
    """Lay the first screen of a plan out, or all that is known of it."""
    if not details:
        return Report(first_screen(plan, saved))
    every: list[Block]
    every = _training(plan) if plan.kind == "training" else _serving(plan)
    return Report(*first_screen(plan, saved).whole(), *every, *_epilogue(plan))


def _serving(plan: Plan) -> list[Block]:
    pooled = Section("Colocated or disaggregated", *_pools(plan))
    if plan.status == "infeasible":
        return [Section("Nearest changes", nearest(plan, wraps=True)), pooled]
    several = len(plan.deployments) > 1
    return [
        *(
            block
            for each, layout in zip(plan.deployments, laid_out(plan), strict=True)
            for block in (
                "",
                Sentence(layout, " "),
                *(whole(parts.time_and_memory(each.evaluation)) if several else ()),
                parts.prompt_line(each.evaluation).whole(),
                *whole(parts.under_load(each.evaluation, at_once=True)),
            )
        ),
        "",
        parts.bill(plan.bill_of_materials),
        *parts.cost(plan.cost, plan.kg_co2e_per_year),
        Section("A step of each limit", _steps(plan)),
        Section("If prices or assumptions move", *_prices(plan)),
        Section("Rent or buy", *_rent_or_buy(plan.rent_or_buy)),
        pooled,
        Section("Best by objective", *_answers(plan)),
        Section("Alternatives", _alternatives(plan)),
        _scenarios(plan),
        _flips(plan),
    ]


def _training(plan: TrainingPlan) -> list[Block]:
    bought = [parts.bill(plan.bill_of_materials)] if plan.deployments else []
    return [
        Section("Nearest changes", nearest(plan, wraps=True)),
        *(Section("", *work(each.evaluation)) for each in plan.deployments),
        Section("", *bought),
        Section("Alternatives by hardware", _clusters(plan.alternatives, "why not")),
        Section("Batches of the range", *_batches(plan)),
        _scenarios(plan),
        Section("All of them in one run", _clusters(plan.heterogeneous, "limits")),
        Section("Rented instead, on demand", *_rented_runs(plan.renting)),
        _flips(plan),
    ]


def laid_out(plan: Plan | TrainingPlan) -> list[str]:
    """Say of each deployment what runs there, and how it is laid out."""
    if plan.kind == "training":
        deployed = plan.deployments
        return [f"{each.model}, {training_layout(each.candidate)}" for each in deployed]
    engine = plan.request.engine_name
    return [parts.deployment_line(each, engine) for each in plan.deployments]


# --- What else was possible -----------------------------------------------------------


def _paid(each: Answer | Alternative, *, hourly: bool) -> str:
    return money_per_hour(each.usd_per_hour) if hourly else parts.price(each)


def _answers(plan: Plan) -> list[Block]:
    answers, hourly = plan.answers, plan.request.hourly
    titled = {"cheapest": answers.cheapest, "most throughput": answers.throughput}
    titled["lowest cost per token"] = answers.cost_per_token
    nothing = "no purchase meets the question"
    rows = [
        (
            title,
            _paid(answer, hourly=hourly),
            rate(answer.tokens_per_second_per_user),
            rate(answer.tokens_per_second),
            money_per_million(answer.usd_per_million_tokens),
            answer.summary or parts.purchase(answer.bill_of_materials) or nothing,
        )
        for title, answer in titled.items()
        if answer is not None
    ]
    paid = ">cost" if hourly else ">price"
    titles = ("", paid, ">tok/s/user", ">tok/s", ">$/Mtok", "with")
    noted = [Sentence(_STEADY)] if rows and plan.request.percentile is not None else []
    return [Table(titles, rows), *noted]


def _alternatives(plan: Plan) -> Table:
    rows = [
        (
            each.summary,
            _paid(each, hourly=plan.request.hourly),
            rate(each.tokens_per_second_per_user),
            rate(each.tokens_per_second),
            each.why_not,
        )
        for each in plan.alternatives
    ]
    paid = ">cost" if plan.request.hourly else ">price"
    return Table(("", paid, ">tok/s/user", ">tok/s", "why not"), rows)


def _clusters(clusters: Sequence[TrainingAlternative], last: str) -> Table:
    rows = [
        (
            each.summary,
            count(each.accelerators),
            parts.price(each, whole=True),
            days(each.days),
            percent(each.mfu),
            money(each.run_usd, whole=True),
            each.why_not,
        )
        for each in clusters
    ]
    return Table(("", ">number", ">price", ">days", ">MFU", ">the run", last), rows)


def _batches(plan: TrainingPlan) -> list[Block]:
    """Show what each batch needs in tokens, and comes to."""
    batches, rough = plan.batches, is_rough(plan.bill_of_materials)
    if batches is None:
        return []
    rows = []
    for each in batches.tried:
        paid = money(each.price_usd, rough=rough, whole=True)
        needs = count(each.global_batch), many(each.tokens)
        rows.append((*needs, days(each.days), paid))
    critical = f"{many(batches.critical_batch_tokens)}, {batches.critical_batch_source}"
    said = (
        f"tokens to the same loss grow by 1 + batch / critical batch ({critical}; "
        f"--critical-batch); those asked for are of {count(batches.stated_batch)} "
        "sequences a step"
    )
    return [Table((">sequences", ">tokens", ">days", ">price"), rows), Sentence(said)]


def _scenarios(plan: PlanDocument) -> Section:
    told = () if plan.scenarios is None else _risks(plan.scenarios)
    measured = _measuring(plan.worth_measuring) if plan.worth_measuring else ()
    return Section("Scenarios", *told, *measured)


_SUMS = (
    *("price_usd_p50", "price_usd_p80", "price_usd_p95"),
    *("cvar95_usd", "regret_usd_p95"),
)


def _risks(told: Scenarios) -> Iterator[Block]:
    """Lay the plan and its alternatives out beside each other, and say of what."""
    costs = ">P50", ">P80", ">P95", ">CVaR95"
    rows = [
        (
            each.summary,
            *(f"{share:.0%}" for share in (each.p_best, each.p_holds)),
            *(money(getattr(each, sum_), whole=True) for sum_ in _SUMS),
        )
        for each in told.regret
    ]
    yield Table(("", ">best", ">holds", *costs, ">regret P95"), rows)
    yield Sentence(
        f"{count(told.drawn)} scenarios, seed {told.seed}: demand off by "
        f"{told.demand_spread:.0%}, prices of memory and wafers by "
        f"{told.common_price_spread:.0%}, each part's own by "
        f"{told.own_price_spread:.0%} (assumed), speeds as errors on file; "
        f"none holds in {told.p_none_holds:.0%}; "
        f"what is missing is bought later at {told.later_price_ratio:g} times its price"
    )


def _measuring(told: Sequence[WorthMeasuring]) -> Iterator[Block]:
    """Lay out what is worth measuring."""
    rows = [
        (
            each.configuration,
            "" if each.rent_usd is None else money(each.rent_usd),
            f"{each.changes_choice:.0%}",
            money(each.saves_usd, whole=True),
            each.without,
            each.instead,
        )
        for each in told
    ]
    figures = ">rent", ">changes", ">saves"
    yield Table(("20 minutes of", *figures, "without it", "then often"), rows)


def _flips(plan: PlanDocument) -> Section:
    """List what the answer becomes when one thing is different."""
    flips = (f"{each.change}: {each.result}" for each in plan.sensitivity)
    return Section("Sensitivity", *listed(flips))


# --- One pool beside two --------------------------------------------------------------


def _pools(plan: Plan) -> list[Block]:
    """Put the plan beside the best two pools for the same question."""
    at, two = plan.request.percentile, plan.disaggregated
    least, costs = plan.pools_bound_usd, "at rates that none exceeds two pools cost"
    bound = [] if least is None else [f"{costs} {money(least, whole=True)}"]
    if at is None or two is None:
        way = [] if plan.transfer is None else [_sent(plan.transfer), *bound]
        return [*listed(way)]
    missed = "simulated, the two pools miss their promises"
    latencies = f">{at} TTFT", f">{at} TPOT"
    titles = ("", ">price", ">accelerators", ">tok/s", *latencies, ">$/Mtok", "layout")
    return [
        Table(titles, [_of_one(plan, at), _of_two(two, at)]),
        *listed([_way(two), *([] if two.in_time else [missed]), *bound]),
    ]


def _sent(way: Transfer) -> str:
    over = f"over {way.network}" if way.network else "inside of the host"
    sent = f"a prompt's cache of {size(way.bytes)}"
    return f"{sent} takes {milliseconds(way.seconds)} {over}"


def _of_one(plan: Plan, at: str) -> tuple[str, ...]:
    if not plan.deployments:
        return ("colocated", *[UNKNOWN] * 6, "no plan")
    layouts = (f"{each.replicas}x {each.candidate.layout}" for each in plan.deployments)
    of = [each.evaluation for each in plan.deployments]
    worst = (
        max(getattr(each.ttft_seconds, at) or 0.0 for each in of),
        max(getattr(each.tpot_seconds, at) or 0.0 for each in of),
    )
    return (
        "colocated",
        parts.price(plan),
        count(plan.totals.accelerators),
        rate(plan.totals.tokens_per_second),
        *map(milliseconds, worst),
        money_per_million(plan.cost.usd_per_million_tokens),
        ", ".join(layouts),
    )


def _of_two(two: Disaggregated, at: str) -> tuple[str, ...]:
    return (
        "disaggregated",
        parts.price(two),
        count(two.accelerators),
        rate(two.tokens_per_second),
        milliseconds(getattr(two.ttft_seconds, at)),
        milliseconds(getattr(two.tpot_seconds, at)),
        money_per_million(two.cost.usd_per_million_tokens),
        two.layout,
    )


def _way(two: Disaggregated) -> str:
    """Say how the cache gets across, and how evenly matched the pools are."""
    prefill, decode = (pool.candidate.accelerator for pool in (two.prefill, two.decode))
    kinds = "" if prefill == decode else f"; prefill on {prefill}, decode on {decode}"
    return (
        f"{_sent(two.transfer)}; the pools carry "
        f"{rate(two.prefill.requests_per_second)} and "
        f"{rate(two.decode.requests_per_second)} requests/s in time{kinds}"
    )


# --- Renting against owning, and prices that move -------------------------------------


DAYS_PER_YEAR = 365


def _rent_or_buy(ways: RentOrBuy | None) -> list[Block]:
    """Show the cheapest way of each, and the break-even."""
    if ways is None:
        return []
    rows = [
        (
            title,
            money_per_hour(way.usd_per_hour),
            money(way.price_usd or None, rough=way.price_is_rough),
            money_per_million(way.usd_per_million_tokens),
            way.summary,
        )
        if way
        else (title, *[UNKNOWN] * 3, "no way that meets the question")
        for title, way in (("rent", ways.rent), ("own", ways.buy))
    ]
    if (hosted := ways.hosted_usd_per_million_tokens) is not None:
        per_million = money_per_million(hosted)
        rows.append(("hosted", UNKNOWN, UNKNOWN, per_million, _from_whom(ways)))
    return [
        Table(("", ">cost", ">purchase", ">$/Mtok", "with"), rows),
        *listed([_break_even(ways)]),
    ]


def _from_whom(ways: RentOrBuy) -> str:
    """Say whose tokens are meant, and of when their price is."""
    when = f" ({ways.hosted_date})" if ways.hosted_date else ""
    low, high = ways.hosted_low_usd, ways.hosted_high_usd
    if low is None or high is None:
        return f"hosted API prices, of whichever model{when}"
    seen = f"{money_per_million(low)} to {money_per_million(high)}"
    return f"tokens of this model from others, with their prompts: {seen}{when}"


def _break_even(ways: RentOrBuy) -> str:
    span = f"over {ways.years:g} years, busy {ways.duty:.0%} of the time"
    if ways.rents_fall_a_year:
        span += f", rents {ways.rents_fall_a_year:.0%} lower each year"
    if ways.rent is None or ways.buy is None:
        return f"compared {span}"
    if ways.break_even_days is None:
        return f"{span}: owning never pays"
    said = f"{span}: break-even after {count(ways.break_even_days)} days"
    months = ways.break_even_days / DAYS_PER_YEAR * MONTHS_PER_YEAR
    said += f" (so long it takes whoever rents it out for as much: {months:.1f} months)"
    if ways.break_even_days > ways.years * DAYS_PER_YEAR:
        return f"{said}, when it is written off already"
    if ways.break_even_duty is not None:
        said += f", and pays if busy more than {ways.break_even_duty:.0%} of the time"
    return said


def _rented_runs(renting: Renting | None) -> list[Block]:
    """Show the cheapest rented run of each accelerator, and when owning pays off."""
    if renting is None:
        return []
    if not renting.runs:
        return ["  no offer finishes in time"]
    rows = [
        (
            f"{count(each.instances)}x {each.instance}",
            f"{count(each.accelerators)}x {each.accelerator}",
            days(each.days),
            money(each.usd_per_hour, whole=True),
            money(each.run_usd, whole=True),
        )
        for each in renting.runs
    ]
    runs = renting.break_even_runs
    after = "" if runs is None else f"owning pays off after {runs:.1f} runs like"
    paid = after or "owning never pays off against"
    titles = ("", "accelerators", ">days", ">an hour", ">the run")
    return [Table(titles, rows), f"  {paid} the cheapest of these"]


def _prices(plan: Plan) -> list[Block]:
    """Say over what prices of each part the choice stays the best."""
    told = plan.uncertainty
    if told is None:
        return []
    band, shown = told.price_band, _shown(plan)
    moved = [_price_range(each, band) for each in told.prices]
    moved += [_flip(each, band) for each in told.flips]
    blocks = listed(moved)
    if told.worst_regret_usd:
        worst = f"at worst the choice costs {shown(told.worst_regret_usd)} too much"
        blocks.append(Sentence(f"{worst}, if one price is off by {band:.0%}"))
    if told.runner_up is not None:
        more = shown(told.runner_up_regret_usd)
        blocks.append(Sentence(f"the runner-up costs {more} more: {told.runner_up}"))
    return blocks


def _shown(plan: Plan) -> Callable[[float | None], str]:
    """Return how money is shown that was asked about."""
    return money_per_hour if plan.request.hourly else money


def _price_range(each: PriceRange, band: float) -> str:
    shown = money_per_hour if each.kind == "instance" else money
    stays = f"the same choice at any price within {band:.0%}"
    ends = (each.low_usd, each.low_choice), (each.high_usd, each.high_choice)
    return f"{each.name} at {shown(each.price_usd)}: {_until(*ends, shown) or stays}"


def _until(
    low: tuple[float | None, str | None],
    high: tuple[float | None, str | None],
    shown: Callable[[float], str],
) -> str:
    """Say below what and above what another choice is the best, and which."""
    ends = (("below", *low), ("above", *high))
    return "; ".join(
        f"{side} {shown(end)} {choice}" for side, end, choice in ends if end is not None
    )


_ASSUMED = {
    "electricity_usd_per_kwh": ("electricity", "${:.3g}/kWh"),
    "duty": ("share of hours that are busy", "{:.1%}"),
    "years": ("years that a purchase lasts", "{:.3g}"),
    "pue": ("power usage effectiveness", "{:.3g}"),
    "context_tokens": ("tokens cached for each user", "{:,.0f}"),
    "predicted_speed": ("speed as a share of the predicted", "{:.0%}"),
}


def _flip(each: Flip, band: float) -> str:
    name, figure = _ASSUMED[each.name]
    stays = f"the same choice within {band:.0%}"
    ends = (each.low, each.low_choice), (each.high, each.high_choice)
    now = f"{name}, assumed {figure.format(each.value)}"
    return f"{now}: {_until(*ends, figure.format) or stays}"


def _steps(plan: Plan) -> Table:
    """Say what one step of each limit is worth."""
    shown = _shown(plan)
    rows = [
        (
            each.limit,
            each.step,
            shown(each.saves_usd),
            rate(each.gains_tokens_per_second),
            each.choice if each.binding and each.choice else "not binding",
        )
        for each in plan.steps
    ]
    return Table(("", ">step", ">saves", ">tok/s more", "then"), rows)


# --- What was assumed, and what was looked at -----------------------------------------


def _epilogue(plan: PlanDocument) -> list[Block]:
    search = plan.search
    details = [f"{count(search.candidates_evaluated)} evaluated"]
    if search.candidates_pruned:
        details.append(f"{count(search.candidates_pruned)} pruned")
    rejected = sorted(search.rejected.items(), key=lambda each: -each[1])
    details += [f"{count(number)} rejected for {reason}" for reason, number in rejected]
    if search.seconds is not None:
        details.append(f"{search.seconds:.2f} s")
    if plan.assumptions:
        details.append(f"assumptions `{plan.assumptions}`")
    done = f"Done: {count(search.candidates_covered)} candidates covered"
    interval = plan.accuracy.statement if plan.accuracy else ""
    return [
        parts.assumed(plan.assumed),
        parts.searched(search.space),
        parts.not_considered(plan.not_considered),
        Section("80% prediction interval", Sentence(interval)),
        parts.warnings(plan.warnings),
        "",
        Sentence(f"{done} ({', '.join(details)}).", "", "  "),
    ]


def render_verification(
    plan: str | Path,
    problems: Sequence[Diagnostic],
    computed: str,
    unproven: Sequence[Diagnostic] = (),
) -> Report:
    """Say whether a saved plan holds, and what of it was computed again."""
    if problems:
        found = f"{bad('NOT VERIFIED')}, {counted(len(problems), 'problem')}"
        return Report(f"{plan}: {found}", computed)
    agrees = "every figure computed again agrees"
    if unproven:
        agrees += f"; {bad('NOT PROVEN')}"
    return Report(f"{plan}: {good('VERIFIED')}, {agrees}", computed)
