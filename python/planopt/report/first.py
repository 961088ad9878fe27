"""The first screen of a plan: what to buy, what is promised, what else there is."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import structs

from planopt.documents.evaluation import ServingEvaluation
from planopt.documents.explanations import Alternative, Scenarios, TrainingAlternative
from planopt.documents.parts import (
    Assumed,
    BomLine,
    Interval,
    NotConsidered,
    PlanWarning,
    Sell,
    failing,
)
from planopt.documents.plan import Plan, PlanDocument, Promise, TrainingPlan
from planopt.documents.training import TrainingEvaluation
from planopt.price_sources import dollars, is_rough
from planopt.report.infeasible import conflict, help_of, nearest
from planopt.report.money import money, money_per_hour, money_per_million
from planopt.report.numbers import (
    count,
    counted,
    days,
    duration,
    many,
    percent,
    rate,
    watts,
)
from planopt.report.parts import carried, chained, found, layout, price, time_and_memory
from planopt.report.screen import (
    HEIGHT,
    TALL,
    Ends,
    Parts,
    Prediction,
    Screen,
    doubt,
    flagged,
    predictions,
    some,
)
from planopt.report.style import UNKNOWN, bad, faint, good, warn
from planopt.report.table import Block, Table, shortened, width
from planopt.report.training import run_lines, training_layout
from planopt.units import SECONDS_PER_DAY

_BEST = {
    "cheapest": "cheapest in the space searched",
    "throughput": "most throughput in the space searched",
    "cost-per-token": "lowest cost per token in the space searched",
    "latency": "fastest per user in the space searched",
}
_WHY = {
    "edge": "no cheaper plan can be shown to hold",
    "time": "the clock ended the search (--time-limit)",
    "space": "not all of the space could be searched",
    None: "found, not proven",
}
_READ = "architecture"
"""What is assumed of a model whose type is unknown."""
_LOW_MARGIN = "W001"
_WHY_NOT, _OTHER_COLUMNS = "=WHY NOT", 52
_OTHERS = "BEST BY ACCELERATOR"
_MODEL = "model"
_LABELLED = 24
"""Columns of a line that its label takes, and the number of what has no room."""
_DOUBTS = 2
"""Lines on what could change the decision; the rest is counted among the warnings."""


def first_screen(plan: Plan | TrainingPlan, saved: str | Path | None) -> Screen:
    """Lay out the whole answer, feasible or not, and say where the rest is."""
    below = [
        *_sureness(plan),
        *assumptions(plan.assumed, plan.warnings, plan.not_considered),
        _last(plan, saved),
    ]
    if plan.status == "infeasible":
        above = [_none(plan), *conflict(plan)]
        return Screen(TALL, above, nearest(plan), [*help_of(plan), *below])
    if plan.kind == "training":
        above, best = _trained(plan), _best_clusters(plan)
    else:
        above, best = _served(plan), _best_builds(plan)
    return Screen(HEIGHT, [*_verdict(plan), *above], best, below)


# --- What to buy, and what was asked --------------------------------------------------


def hardware(bill: Iterable[BomLine], *, hosts: bool = True) -> str:
    """Name what computes, and what it is in."""
    lines = [line for line in bill if line.quantity]
    named = [
        " + ".join(
            f"{count(line.quantity)} × {line.name}{' (owned)' * line.owned}"
            for line in lines
            if line.kind in kinds
        )
        for kinds in (("accelerator",), ("host", "instance"))
    ]
    there = [each for each in named if each]
    return " in ".join(there if hosts else there[:1])


def _verdict(plan: Plan | TrainingPlan) -> list[Block]:
    proven = plan.status == "optimal"
    sign, colour = ("✔", good) if proven else ("~", warn)
    title = f"{sign} {hardware(plan.bill_of_materials)}"
    if proven:
        status = good(_BEST[plan.objective])
    else:
        gap = "" if plan.gap is None else f", within {plan.gap:.1%} of the best"
        status = warn(f"feasible{gap}")
    doubts = [] if proven else [_WHY[plan.why] + _bound(plan)]
    doubts += [each.message for each in plan.warnings if each.code == _LOW_MARGIN]
    several = list(dict.fromkeys(doubts))
    asked, *ways = _asked(plan)
    return [
        Ends(title, paid(plan), flagged(sign, colour)),
        Ends(f"  {asked}"),
        Ends(f"  {' + '.join(ways)}", status),
        *map(doubt, several[:_DOUBTS]),
    ]


def _bound(plan: PlanDocument) -> str:
    """Say what no plan can be cheaper than."""
    if plan.bound_usd is not None:
        return f"; no purchase is below {money(plan.bound_usd, whole=True)}"
    hourly = plan.bound_usd_per_hour
    return "" if hourly is None else f"; nothing is below {money_per_hour(hourly)}"


def paid(plan: Plan | TrainingPlan) -> str:
    """Say what it costs, in the money that was asked about, and of what budget."""
    request, said = plan.request, price(plan, whole=True) + _converted(plan)
    of = f" of {money(request.budget_usd)}" if request.budget_usd else ""
    if plan.kind == "training":
        return f"{said}{' for the run' if request.procurement == 'rent' else ''}{of}"
    if not request.hourly:
        return f"{said}{of}"
    hourly = money_per_hour(plan.cost.usd_per_hour) + _converted(plan)
    if request.budget_usd_per_hour:
        hourly += f" of {money_per_hour(request.budget_usd_per_hour)}"
    return f"{hourly}, {said} of it to buy{of}" if plan.price_usd else hourly


def _converted(plan: Plan | TrainingPlan) -> str:
    """Say the same money in the currency of the question."""
    hourly = plan.kind != "training" and plan.request.hourly
    usd = plan.cost.usd_per_hour if hourly else plan.price_usd
    rough, per = not hourly and is_rough(plan.bill_of_materials), "/h" * hourly
    said = ""
    for name, worth in plan.request.currency.items() if usd else ():
        amount = dollars((usd or 0.0) / worth, rough=rough, whole=not hourly)
        said += f" ({amount.replace('$', f'{name} ')}{per})"
    return said


def _asked(plan: Plan | TrainingPlan) -> list[str]:
    """Say what runs under what load, and how each deployment is laid out."""
    request = plan.request
    named = [request.model or UNKNOWN]
    if any(each.name == _MODEL for each in plan.assumed):
        named[0] += " (assumed; --model)"
    if plan.kind == "training":
        named.append(f"{many(request.tokens or 0.0)} tokens{_as_asked(plan)}")
        if request.global_batch:
            named.append(f"{count(request.global_batch)} sequences a step")
        return [
            " · ".join(named),
            *(times(training_layout(each.candidate)) for each in plan.deployments),
        ]
    named += [request.engine_name] if request.engine_name else []
    if request.requests_per_second:
        named.append(f"{rate(request.requests_per_second)} requests/s")
    elif request.concurrency:
        who = "sessions" if request.sessions else "users"
        named.append(f"{count(request.concurrency)} {who}")
    if request.context_tokens:
        how = "on average" if request.sessions else "each"
        named.append(f"{count(request.context_tokens)} tokens of context {how}")
    ways = [
        (f"{each.role} " if each.role != "colocated" else "")
        + times(layout(each.candidate))
        + (f", {each.replicas} replicas" if each.replicas > 1 else "")
        for each in plan.deployments
    ]
    return [" · ".join(named), *ways]


def _as_asked(plan: TrainingPlan) -> str:
    """Say of another batch what the tokens were that were asked for."""
    batches = plan.batches
    if batches is None or batches.stated_tokens == plan.request.tokens:
        return ""
    of = f"{many(batches.stated_tokens)} at {count(batches.stated_batch)} sequences"
    return f" for {of}"


def times(layout: str) -> str:
    """Write a layout as a screen counts: ``TP4 × PP2``."""
    return layout.replace(" x ", " × ")


# --- What is promised -----------------------------------------------------------------


def promises(plan: Plan | TrainingPlan) -> Table:
    """Show asked, predicted and the interval of each, on an axis of its own."""
    of = plan.deployments[0].evaluation
    run, lasts = _ends(of.intervals.get("days")), getattr(of, "days", None)
    rows = [_promise(each, run, lasts) for each in plan.promises]
    return predictions("PROMISE", [*_unasked(plan), *rows])


def _unasked(plan: Plan | TrainingPlan) -> list[Prediction]:
    """Predict what every plan is judged by, where nothing was asked of it."""
    names = {each.name for each in plan.promises}
    if plan.kind == "training":
        took = length(plan.deployments[0].evaluation)
        return [] if "deadline" in names else [took]
    return [] if "tpot" in names else [speed(plan.deployments[0].evaluation)]


def speed(of: ServingEvaluation) -> Prediction:
    """Predict how fast each user is served by a steady step."""
    ends = _ends(of.intervals.get("tokens_per_second_per_user"))
    return Prediction("tok/s per user", of.decode.tokens_per_second_per_user, ends)


def length(of: TrainingEvaluation) -> Prediction:
    """Predict how long a run takes."""
    return Prediction("days", of.days, _ends(of.intervals.get("days")), told=days)


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    """Return where an interval begins and ends."""
    return None if interval is None else (interval.low, interval.high)


def _promise(
    of: Promise, run: tuple[float, float] | None, lasts: float | None
) -> Prediction:
    """Predict what was asked for; a run of so many days may wait for its parts."""
    ends = None if of.low is None or of.high is None else (of.low, of.high)
    at = f", {of.percentile}" if of.percentile else ""
    predicted = of.predicted
    match of.name:
        case "tpot":
            ends = ends and (1 / ends[1], 1 / ends[0])
            fast = None if predicted is None else 1 / predicted
            return Prediction(f"tok/s per user{at}", fast, ends, 1 / of.asked)
        case "ttft":
            return Prediction(f"TTFT{at}", predicted, ends, of.asked, duration, "≤")
        case "deadline":
            took = predicted and predicted / SECONDS_PER_DAY
            asked = of.asked / SECONDS_PER_DAY
            if run and took and lasts:
                run = (took - lasts + run[0], took - lasts + run[1])
            return Prediction("days", took, ends or run, asked, days, "≤")
        case "concurrency":
            exact = None if predicted is None else (predicted, predicted)
            name = "users at the same time"
            return Prediction(name, predicted, exact, of.asked, count)
        case "throughput":
            return Prediction("tok/s in total", predicted, ends, of.asked)
        case _:
            return Prediction("requests/s", predicted, ends, of.asked)


# --- What it costs, and what else there is --------------------------------------------


def _served(plan: Plan) -> list[Block]:
    first, tokens = plan.deployments[0].evaluation, plan.totals.tokens_per_second
    load = [f"{rate(tokens)} tok/s in all, of steady steps at full context"]
    loads = [each.evaluation.under_load for each in plan.deployments]
    if first.under_load is not None:
        kept = [each.goodput for each in loads if each and each.goodput is not None]
        whole = structs.replace(
            first.under_load,
            requests_per_second=plan.totals.requests_per_second,
            tokens_per_second=tokens,
            goodput=min(kept, default=None),
        )
        load = [carried(whole)]
    known = first.under_load or tokens
    return [
        *(promises(plan), _money(plan), *sold(plan.sell)),
        Parts("Load", load if known else []),
        *some("Chain", chained(plan.deployments[0])),
        *some("Cache", found(first.under_load)),
        *_outlasted(plan),
        *time_and_memory(first),
        *_rented(plan),
    ]


def _outlasted(plan: Plan) -> list[Parts]:
    """Say what may fail, and what is left then."""
    all_of_them = count(plan.totals.replicas)
    said = [
        f"{failing(each.domain, each.losses)} down: "
        f"{count(each.replicas_left)} of {all_of_them} replicas left"
        for each in plan.failures
    ]
    asked = plan.request.redundancy
    if isinstance(asked, dict) and (most := asked.get("loss")):
        said.append(f"none carries more than {most:.0%} of what is asked")
    if any(each.domain == "rack" for each in plan.failures):
        said.append("no two units in one rack")
    return some("Failures", said)


def _trained(plan: TrainingPlan) -> list[Block]:
    first = plan.deployments[0].evaluation
    lines = run_lines(first, rough=is_rough(plan.bill_of_materials))
    return [promises(plan), _money(plan), *lines, *_rented_runs(plan)]


def _money(plan: Plan | TrainingPlan) -> Parts:
    tokens = None if plan.kind == "training" else plan.usd_per_million_tokens
    hourly, rough = plan.tco_usd_per_hour, is_rough(plan.bill_of_materials)
    return cost_line(plan.capex_usd, hourly, tokens, plan.power_watts, rough=rough)


def cost_line(
    capex: float | None,
    per_hour: float | None,
    per_million: float | None,
    power: float | None,
    *,
    rough: bool,
) -> Parts:
    """Say what is paid once, by the hour and for tokens."""
    said = [
        (capex or None, f"capex {money(capex, rough=rough, whole=True)}"),
        (per_hour, f"TCO {money_per_hour(per_hour)}"),
        (per_million, f"{money_per_million(per_million)}/Mtok"),
        (power, f"{watts(power)} at full load"),
    ]
    return Parts("Cost", [each for figure, each in said if figure is not None])


def sold(sell: Sell | None, of: str = "busy") -> list[Block]:
    """Say in a line what selling tokens leaves."""
    if sell is None:
        return []
    even, back = sell.break_even_utilisation, sell.payback_days
    said = [
        f"revenue {money_per_hour(sell.revenue_usd_per_hour)}",
        f"margin {money_per_hour(sell.margin_usd_per_hour)}",
        "never breaks even" if even is None else f"breaks even at {even:.0%} {of}",
        *([] if back is None else [f"paid back in {count(round(back))} d"]),
    ]
    return [Parts("Sold", said)]


def _rented(plan: Plan) -> list[Block]:
    """Say in a line what the other way of acquiring it comes to."""
    ways = plan.rent_or_buy
    if ways is None or ways.rent is None or ways.buy is None:
        return []
    after = ways.break_even_days
    pays = (
        "owning never pays" if after is None else f"break-even after {count(after)} d"
    )
    falls = ways.rents_fall_a_year
    pays += f" at rents {falls:.0%} lower each year" if falls else ""
    rent, own = (money_per_hour(each.usd_per_hour) for each in (ways.rent, ways.buy))
    return [Parts("Rent", [f"{rent} rented", f"{own} owned", pays])]


def _rented_runs(plan: TrainingPlan) -> list[Block]:
    if plan.renting is None or not plan.renting.runs:
        return []
    best, runs = plan.renting.runs[0], plan.renting.break_even_runs
    pays = "owning never pays" if runs is None else f"owning pays from {runs:.1f} runs"
    what = f"{count(best.accelerators)} × {best.accelerator}, {days(best.days)} days"
    return [Parts("Rent", [what, money(best.run_usd, whole=True), pays])]


def _best_builds(plan: Plan) -> Table:
    """Put what was chosen over the best of each other accelerator."""
    hourly, of = plan.request.hourly, plan.deployments[0].evaluation
    # Those of alternatives are of a steady step: no figures beside one under a load.
    steady = plan.request.percentile is None

    def row(
        each: Plan | Alternative, per_hour: float | None, fast: float | None, why: str
    ) -> tuple[str, ...]:
        summary = getattr(each, "summary", "")
        return (
            hardware(each.bill_of_materials, hosts=False) or summary,
            money_per_hour(per_hour) if hourly else price(each, whole=True),
            "" if hourly else money_per_hour(per_hour),
            rate(fast) if steady else "",
            money_per_million(each.usd_per_million_tokens) if steady else "",
            shortened(why, width() - _OTHER_COLUMNS),
        )

    fast = of.decode.tokens_per_second_per_user
    cells = [row(plan, plan.tco_usd_per_hour, fast, "chosen")]
    cells += [
        row(each, each.usd_per_hour, each.tokens_per_second_per_user, each.why_not)
        for each in plan.alternatives
    ]
    paid = ">COST" if hourly else ">PRICE"
    titles = (_OTHERS, paid, "?+>TCO", "?>TOK/S/USER", "?+>$/MTOK", _WHY_NOT)
    return Table(titles, cells, wraps=False, chosen=True)


def _best_clusters(plan: TrainingPlan) -> Table:
    first = plan.deployments[0]
    of, usd = first.evaluation, first.evaluation.run.usd
    best = {first.candidate.accelerator: _cluster(plan, of, usd, "chosen")}
    for each in plan.alternatives:
        kind = each.candidate.accelerator if each.candidate else each.summary
        best.setdefault(kind, _cluster(each, each, each.run_usd, each.why_not))
    titles = (_OTHERS, ">PRICE", ">DAYS", ">MFU", "+>THE RUN", _WHY_NOT)
    return Table(titles, [*best.values()], wraps=False, chosen=True)


def _cluster(
    paid: TrainingPlan | TrainingAlternative,
    does: TrainingEvaluation | TrainingAlternative,
    run_usd: float | None,
    why: str,
) -> tuple[str, ...]:
    return (
        hardware(paid.bill_of_materials, hosts=False),
        price(paid, whole=True),
        days(does.days),
        percent(does.mfu),
        money(run_usd, rough=is_rough(paid.bill_of_materials), whole=True),
        shortened(why, width() - _OTHER_COLUMNS),
    )


# --- How sure it is, and what it rests on ---------------------------------------------


_GRADES = {
    "measured": "measured on this accelerator and model kind",
    "family": "measured on its family and model kind",
    "none": "none on this accelerator and model kind",
}


def _sureness(plan: PlanDocument) -> list[Parts]:
    """Say what is known of predictions, and how likely all promises are kept."""
    known = plan.evidence
    if known is None:
        return []
    said = [_GRADES[known.grade]]
    if plan.oldest_price_date:
        said.append(f"oldest price {plan.oldest_price_date}")
    if known.rows:
        data = (kind.data or "" for kind in known.kinds)
        last = max(each.partition("; ")[2].rpartition(" ")[2] for each in data)
        said.append(f"{count(known.rows)} rows" + (f", {last}" if last else ""))
    chance = []
    if plan.probability is not None:
        chance.append(f"{plan.probability:.0%} that all promises hold")
    if plan.confidence is not None:
        chance.append(f"{plan.confidence:.0%} asked")
    rough = is_rough(plan.bill_of_materials)
    prices = {50: plan.price_usd_at_confidence_50, 95: plan.price_usd_at_confidence_95}
    chance += [
        f"{money(usd, rough=rough, whole=True)} at {at}%"
        for at, usd in prices.items()
        if usd is not None
    ]
    lines = {
        "Evidence": said,
        "Chance": chance,
        "Scenarios": _scenarios(plan.scenarios),
        "Recourse": _recourse(plan),
        "Measure": _worth(plan),
    }
    return [Parts(label, parts) for label, parts in lines.items() if parts]


def _scenarios(told: Scenarios | None) -> list[str]:
    """Say how often the plan is the best, and what it comes to at worst."""
    if told is None:
        return []
    costs = {"P50": told.price_usd_p50, "P95": told.price_usd_p95}
    costs["CVaR95"] = told.cvar95_usd
    return [
        f"best in ~{told.p_best:.0%} of {count(told.drawn)}",
        f"holds in ~{told.p_holds:.0%}",
        *(f"{at} {money(usd, rough=True, whole=True)}" for at, usd in costs.items()),
    ]


def _recourse(plan: PlanDocument) -> list[str]:
    """Say for how much of the demand to buy now, and what the rest comes to."""
    told = plan.recourse if isinstance(plan, Plan) else None
    if told is None:
        return []
    best = min(told.stages, key=lambda stage: stage.expected_usd)
    now, own = (
        money(each.expected_usd, rough=True, whole=True)
        for each in (best, told.stages[0])
    )
    later = {"buy": "bought", "rent": "rented"}[told.way]
    return [
        f"buy for {told.best:.0%} of the demand now",
        f"{now} expected with what is {later} later",
        *([] if best is told.stages[0] else [f"the plan {own}"]),
    ]


def _worth(plan: PlanDocument) -> list[str]:
    """Say what is worth measuring first."""
    if not plan.worth_measuring:
        return []
    first = plan.worth_measuring[0]
    rent = first.rent_usd
    saved = money(first.saves_usd, rough=True, whole=True)
    return [
        f"{first.accelerators} × {first.accelerator} for 20 min",
        f"saves {saved} in the mean",
        f"~{first.changes_choice:.0%} another choice",
        *([] if rent is None else [f"rent {money(rent)}"]),
    ]


def assumptions(
    assumed: Sequence[Assumed],
    warnings: Iterable[PlanWarning],
    not_considered: Iterable[NotConsidered] = (),
) -> list[Block]:
    """Say in a line each what was assumed, left out, and to be looked after."""
    left_out = []
    # What can be had and is cheap, but was not asked for, is said before all else.
    for each in sorted(not_considered, key=lambda e: (e.what != "offers", -e.count)):
        what = each.what.removesuffix("" if each.count > 1 else "s")
        said = f"{count(each.count)} {what}, {each.why}"
        helps = (f" ({each.help})", f" ({each.help.partition(', ')[0]})", "")
        room = width() - _LABELLED - len(said)
        left_out.append(
            said + next(help for help in helps if len(help) <= max(room, 0))
        )
    warned = [each for each in warnings if each.code != _LOW_MARGIN]
    number = counted(len(warned), "warning")
    gists = list(dict.fromkeys(_gist(each.message) for each in warned))
    # How an unknown architecture was read matters most of all.
    first = sorted(assumed, key=lambda each: each.name != _READ)
    return [
        Parts("Assumed", [_short(each) for each in first]),
        Parts("Left out", left_out),
        Parts(f"! {number}", gists, mark=warn, indent=""),
    ]


def _gist(message: str) -> str:
    """Say a warning in short: what is before its colon, if that says anything."""
    gist = message.partition(": ")[0]
    return gist if " " in gist else message


def _short(each: Assumed) -> str:
    """Say what was assumed without why: ``chat: prompt 512``, which names itself."""
    value = each.value.partition(" (")[0].removesuffix(" on average")
    names_itself = ":" in value or each.name == _READ
    return value if names_itself else f"{each.name} {value}"


def _last(plan: Plan | TrainingPlan, saved: str | Path | None) -> Ends:
    search = plan.search
    done = f"  {kinds(plan)}{count(search.candidates_covered)} candidates"
    took = "" if search.seconds is None else f" in {search.seconds:.2f} s"
    return last(done + took, saved)


def kinds(plan: PlanDocument) -> str:
    """Say how many kinds of accelerator something could be built of."""
    of = plan.search.space
    return "" if of is None else f"space: {counted(of.accelerators, 'accelerator')}, "


def last(done: str, saved: str | Path | None) -> Ends:
    """Say what was done, and where the rest is."""
    kept = "--out plan.json" if saved is None else f"saved {saved}"
    return Ends(done, faint(f"--details · {kept}"), faint)


def _none(plan: PlanDocument) -> Ends:
    """Say that there is no plan, and whether that is proven."""
    why, looked = plan.infeasibility, plan.search.candidates_covered > 0
    in_time = plan.why != "time"
    proven = in_time and looked and (why is None or bool(why.binding))
    said = "✘ infeasible: no plan meets these limits"
    if not in_time:
        said = "✘ no plan was found before the clock ended (--time-limit)"
    return Ends(said, bad("proven" if proven else ""), flagged("✘", bad))
