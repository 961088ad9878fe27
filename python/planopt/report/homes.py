"""What machines in homes do, on a screen."""

from collections.abc import Iterable

from planopt.documents.homes import (
    Chains,
    HomesPlan,
    IslandKind,
    IslandsPlan,
    IslandsRun,
    NeighbourKind,
    NeighboursPlan,
)
from planopt.documents.parts import Assumed
from planopt.price_sources import is_rough
from planopt.report.money import money, money_per_million
from planopt.report.numbers import count, days, duration, many, percent, size
from planopt.report.screen import Ends
from planopt.report.style import bad, good, head
from planopt.report.table import Block, Report, Section, Sentence, Table

_LABEL = 8
_ALL = 1e-5
"""What may lack of all the time."""
_SLOW = (
    "What would help: fewer stages (larger cards or smaller --weights), faster cards, "
    "or lines with less latency."
)
_SURE = 0.99
"""A share of the time that people plan with."""


def render_homes(plan: HomesPlan) -> Report:
    """Lay it out for a terminal."""
    return _islands(plan) if isinstance(plan, IslandsPlan) else _neighbours(plan)


def _islands(plan: IslandsPlan) -> Report:
    """Lay a run over islands out for a terminal."""
    run = plan.best or plan.nearest
    if run is None:
        why = "No island holds it: more machines, larger ones, or a smaller --model."
        return Report(Ends("✘ infeasible", "", bad), Sentence(why))
    late = plan.best is None
    said = f"{days(run.days)} days and {money(run.usd, whole=True)}"
    verdict = f"✘ too late: at best {said}" if late else f"✔ trained in {said}"
    asked = f"{plan.model}, {many(plan.tokens)} tokens, islands over the Internet"
    return Report(
        Ends(verdict, "", bad if late else good),
        Ends(asked, "", head),
        Section("", *_of_run(run)),
        Section("Steps between two exchanges", *_cadences(plan.cadences, run)),
        *_assumed(plan.assumed),
    )


def _of_run(run: IslandsRun) -> Iterable[Block]:
    yield from map(_kind, run.islands)
    if run.exchange_bytes:
        yield _line(
            "Round",
            f"{run.inner_steps} steps, {duration(run.inner_seconds)}; then "
            f"{size(run.exchange_bytes)} of each by {run.topology}, "
            f"{duration(run.exchange_seconds)}",
            f"computing {percent(run.compute_utilisation)} of the time",
        )
    free, dear = run.tokens_factor_range
    if dear is None or dear != free:
        high = "never" if dear is None else f"{dear:.2f}"
        yield _line(
            "Loss",
            f"{run.tokens_factor:.2f} times the tokens make up for meeting seldom",
            f"{free:.2f} to {high} as far as is known",
        )
    yield _line(
        "Speed",
        f"{count(run.tokens_per_second)} tokens/s in the mean",
        f"{percent(run.availability)} of the islands are there, "
        f"{percent(run.goodput)} of their time counts",
    )
    energy = money(run.energy_usd, whole=True)
    kwh = f", {energy} of it for {count(run.energy_kwh)} kWh" if run.energy_kwh else ""
    yield _line("Money", f"{money(run.usd, whole=True)}{kwh}")


def _line(label: str, *said: str) -> Sentence:
    """Say something under a label."""
    text = "\N{NO-BREAK SPACE}".join([f"{label:<{_LABEL}}", ""])
    return Sentence(f"{text}{'; '.join(said)}", "  ", " " * (_LABEL + 3))


def _kind(kind: IslandKind) -> Block:
    candidate = kind.candidate
    each = kind.accelerators // kind.machines
    machines = f"{kind.islands} islands of {kind.machines} {kind.id} each"
    machines += f" ({each} accelerators each)" if each > 1 else ""
    degrees = {"tp": candidate.tp, "pp": candidate.pp, "dp": candidate.dp}
    parts = [
        f"{machines} over {kind.network}",
        " ".join(f"{name} {of}" for name, of in degrees.items() if of > 1),
        f"{count(kind.tokens_per_second)} tokens/s each",
        f"{kind.spares} spare" if kind.spares else "",
    ]
    return _line("Islands", ", ".join(filter(None, parts)))


def _cadences(runs: Iterable[IslandsRun], best: IslandsRun) -> Iterable[Block]:
    rows = [
        (
            ("▸ " if each.inner_steps == best.inner_steps else "  ")
            + f"{each.inner_steps:,}",
            duration(each.round_seconds),
            percent(each.compute_utilisation),
            f"{each.tokens_factor:.2f}",
            days(each.days),
            money(each.usd, whole=True),
        )
        for each in runs
    ]
    titles = (">steps", ">round", ">computing", ">tokens", ">days", ">money")
    return [Table(titles, rows)] if len(rows) > 1 else []


def _assumed(every: Iterable[Assumed]) -> Iterable[Block]:
    """Say what was assumed."""
    shown = [f"{each.name} {each.value}" for each in every]
    return [Section("", _line("Assumed", *shown))] if shown else []


def _neighbours(plan: NeighboursPlan) -> Report:
    """Lay a model that neighbours serve out for a terminal."""
    chains = plan.best or plan.nearest
    whose = "neighbours" if chains is None or _leaves(chains) else "machines"
    asked = f"{plan.model}, {plan.weights}, on a chain of {whose}"
    if chains is None:
        why = "No chain holds it: more machines, larger ones, or smaller --weights."
        return Report(Ends("✘ infeasible", "", bad), Ends(asked, "", head), why)
    speed = f"{_speed(chains.tokens_per_second_per_user_served)} tokens/s"
    whole = f"{share_of_time(chains.availability)} of the time"
    users = "1 user" if chains.users == 1 else f"{count(chains.users)} users at once"
    slow = plan.best is None
    verdict = f"✔ {users} at {speed} each, {whole}"
    verdict = f"✘ too slow: at best {speed} each" if slow else verdict
    return Report(
        Ends(verdict, "", bad if slow else good),
        Ends(asked, "", head),
        Section("", *_of_chains(plan, chains), *([Sentence(_SLOW)] if slow else [])),
        Section("Stages of a chain", *_of_lengths(plan.lengths, chains)),
        *_assumed(plan.assumed),
    )


def _of_chains(plan: NeighboursPlan, chains: Chains) -> Iterable[Block]:
    for index, kind in enumerate(chains.machines):
        own = [stage.layers for stage in chains.stages if stage.kind == index]
        layers = "+".join(map(str, own)) + " layers" if own else "not used"
        each = f"{kind.each} of {kind.machines} {kind.id} over {kind.network}"
        spare = f"{kind.spares} spare" if kind.spares and own else ""
        yield _line("Chain", *filter(None, (f"{each}: {layers}", spare)))
    if chains.chains > 1:
        sure = sum(share >= _SURE for share in chains.at_least)
        yield _line(
            "Chains",
            f"{chains.chains} where all are there",
            f"{chains.chains * chains.running:.3g} in the mean",
            f"at least {sure} for {share_of_time(_SURE)} of the time",
        )
    yield _line(
        "Tokens",
        f"{count(chains.output_tokens_per_second)} tokens/s in the mean",
        f"{count(chains.prompt_tokens_per_second)} tokens/s of prompts are read in "
        f"between, in {percent(1 - chains.decoding)} of the time",
    )
    if _leaves(chains):
        yield from _losses(chains)
    yield _line(
        "Speed",
        f"{_speed(chains.tokens_per_second_per_user)} tokens/s each without either",
        f"{_speed(chains.tokens_per_second_alone)} alone",
        f"{duration(chains.prefill_seconds)} to the first token",
    )
    power = money_per_million(chains.energy_usd_per_million_tokens)
    yield _line(
        "Money",
        f"{money_per_million(chains.usd_per_million_tokens)} for a million tokens "
        "pays for it all",
        f"{power} pays for the electricity",
        f"{money(chains.usd_per_hour)} an hour",
    )
    if plan.price_usd is not None:
        price = money(plan.price_usd, rough=is_rough(plan.bill_of_materials))
        yield _line("Bought", f"{price} in all, with what joins them")
    unpriced = [kind.id for kind in chains.machines if kind.price_usd is None]
    if unpriced:
        yield _line("", f"no price is known of {', '.join(unpriced)}: its power alone")
    for kind in chains.machines:
        yield from _member(kind)


def _leaves(chains: Chains) -> bool:
    """Whether a machine ever leaves: those of one place stay."""
    return any(kind.presence < 1 for kind in chains.machines)


def _losses(chains: Chains) -> Iterable[Block]:
    copies = "others hold copies of what users have cached"
    again = copies if chains.recovery == "copies" else "tokens are computed again"
    longest = max(each.takeover_seconds + each.replay_seconds for each in chains.stages)
    yield _line(
        "Losses",
        f"{percent(1 - chains.serving)} of the time goes into making up for them",
        f"{duration(longest)} at most: {again}",
    )
    if (uptime := chains.simulated) is not None:
        yield _line(
            "Checked",
            f"simulated, a chain is whole {share_of_time(uptime.availability)} "
            "of the time",
            f"{percent(1 - uptime.serving)} goes into losses",
        )


def _member(kind: NeighbourKind) -> Iterable[Block]:
    if kind.paid_usd_per_hour is None or kind.earned_usd_per_hour is None:
        return
    pays = kind.pays_below_usd_per_kwh
    below = "" if pays is None else f"pays below {money(max(pays, 0.0))}/kWh"
    if pays is not None and pays <= 0:
        below = "pays at no price of electricity"
    earned = kind.earned_usd_per_hour
    left = f"{money(earned)} of it are left after its cost"
    if earned < 0:
        left = f"it costs {money(-earned)} more than that"
    yield _line(
        "Member",
        f"a home with an {kind.id} is paid {money(kind.paid_usd_per_hour)} an hour",
        left,
        *filter(None, (below,)),
    )


def _of_lengths(every: Iterable[Chains], best: Chains) -> Iterable[Block]:
    rows = [
        (
            ("▸ " if each.in_flight == best.in_flight else "  ") + str(each.in_flight),
            str(each.chains),
            f"{count(each.users)}",
            _speed(each.tokens_per_second_per_user_served),
            share_of_time(each.availability),
            count(each.output_tokens_per_second),
            money_per_million(each.usd_per_million_tokens),
        )
        for each in every
    ]
    titles = (">stages", ">chains", ">users", ">each", ">whole", ">tokens/s", ">$/Mtok")
    return [Table(titles, rows)] if len(rows) > 1 else []


def _speed(tokens: float) -> str:
    return f"{tokens:.3g}"


def share_of_time(share: float) -> str:
    """Say a share of the time, as exactly as it is near to all of it."""
    if 1 - share < _ALL:
        return "all"
    digits = 0
    while 1 - share < 2 * 10.0 ** (-2 - digits):
        digits += 1
    return f"{100 * share:.{digits}f}%"
