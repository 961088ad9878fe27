"""Other builds and clusters beside the answer, with why each was not chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.catalog.open import LIMITED_TO
from planopt.documents.explanations import Alternative, TrainingAlternative
from planopt.planning.held_back import held_back, span
from planopt.price_sources import apart, is_rough
from planopt.procurement.why_not import why_not

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from planopt.documents.training import (
        TrainingDeployment,
        TrainingDocument,
        TrainingEvaluation,
    )
    from planopt.planning.question import ServingQuestion, TrainingQuestion
    from planopt.procurement.found import ListedRuns
    from planopt.serving.build import Build
    from planopt.training.build import TrainingBuild

# --- Of serving -----------------------------------------------------------------------


def other_builds(
    question: ServingQuestion, chosen: Build, builds: Sequence[Build]
) -> tuple[Alternative, ...]:
    """List the cheapest build of each other accelerator, bought and rented, by price.

    Hosts and networks of it are folded into that one. Beside two pools, one pool of the
    same accelerators is another build.
    """
    top, hourly = question.problem.top, question.problem.hourly
    others: list[Alternative] = []
    seen = {_kind(chosen)}
    for other in builds:
        if _kind(other) in seen or len(others) == top:
            continue
        seen.add(_kind(other))
        deployment = other.deployments[0]
        others.append(
            Alternative(
                summary=other.summary,
                why_not="; ".join(
                    why_not(
                        other.broken,
                        question.limits,
                        rough=is_rough(other.bill_of_materials),
                        hourly=hourly,
                    )
                )
                or _why_no_build(other, chosen, hourly=hourly),
                price_usd=other.price_usd,
                usd_per_hour=other.usd_per_hour,
                tokens_per_second_per_user=other.tokens_per_second_per_user,
                tokens_per_second=other.tokens_per_second,
                usd_per_million_tokens=other.cost.usd_per_million_tokens,
                users=other.users,
                power_watts=None if other.rented else other.power_watts,
                replicas=deployment.replicas,
                candidate=deployment.candidate,
                hardware=deployment.hardware,
                bill_of_materials=other.bill_of_materials,
            )
        )
    return tuple(others)


def _kind(build: Build) -> tuple[tuple[str, ...], bool, bool]:
    """Tell builds apart by their accelerators, whether they are rented, and pools."""
    named = (each.candidate.accelerator for each in build.deployments)
    used = {each.partition(LIMITED_TO)[0] for each in named}
    return tuple(sorted(used)), build.rented, build.transfer is not None


def _why_no_build(other: Build, chosen: Build, *, hourly: bool) -> str:
    """Say what a build within all limits lacks."""
    if hourly:
        dearer = other.usd_per_hour - chosen.usd_per_hour
        said = f"${abs(dearer):,.3g}/h"
    else:
        dearer = other.price_usd - chosen.price_usd
        said = _apart(other, chosen)
    if dearer > 0:
        return f"{said} more"
    if dearer < 0:
        return f"{said} less, but not best at what was asked for"
    return "same price; more dollars per token, more power or later by name"


def _apart(one: Build | TrainingBuild, other: Build | TrainingBuild) -> str:
    """Say by how much two prices differ, as exactly as both are known."""
    rough = any(is_rough(each.bill_of_materials) for each in (one, other))
    return apart(one.price_usd, other.price_usd, rough=rough)


def is_within(other: Alternative | TrainingAlternative) -> bool:
    """Whether a build is within all limits, so that only money speaks against it."""
    return "more" in other.why_not and "over" not in other.why_not


# --- Of training ----------------------------------------------------------------------


def other_clusters(
    question: TrainingQuestion, chosen: TrainingBuild
) -> tuple[TrainingAlternative, ...]:
    """List the best cluster of each accelerator, with why it was not chosen.

    Of the accelerator that was chosen it is the best of the others. Those that were
    named and have no cluster are listed with what keeps them from it.
    """
    runs = question.found.runs()
    listed = list(question.offered.builds)
    if question.problem.objective == "throughput":
        listed.sort(key=lambda each: -runs.tokens_per_second[each.row])
    others: dict[str, TrainingAlternative] = {}
    for each in listed:
        accelerator = runs.accelerator[each.row]
        if accelerator in others or len(others) >= question.problem.top:
            continue
        (other,) = question.builds([each.row])
        if other.bill_of_materials == chosen.bill_of_materials:
            continue
        rough = is_rough(other.bill_of_materials)
        over = "; ".join(why_not(each.broken, question.limits, rough=rough))
        others[accelerator] = training_alternative(
            other.deployment,
            other.evaluation,
            other.summary,
            over or _why_no_cluster(other, chosen),
            other.price_usd,
        )
    return *others.values(), *_without_cluster(question, runs)


def _why_no_cluster(other: TrainingBuild, chosen: TrainingBuild) -> str:
    """Say what a cluster within all limits lacks."""
    dearer = round(other.price_usd - chosen.price_usd)
    later, by = other.days - chosen.days, _apart(other, chosen)
    if dearer > 0:
        return f"{by} more" + (f", {span(later)} later" if later > 0 else "")
    money = f"{by} less" if dearer else "same price"
    if later > 0:
        return f"{money}, {span(later)} later"
    return money if other.rented else f"{money}; more power"


def _without_cluster(
    question: TrainingQuestion, runs: ListedRuns
) -> Iterator[TrainingAlternative]:
    """Say of each accelerator that was named why it has no cluster."""
    for name in question.problem.accelerators:
        if name not in runs.accelerator:
            why = held_back(question.alone(name))
            yield TrainingAlternative(summary=name, why_not=why.sentence)


def training_alternative(
    of: TrainingDeployment | TrainingDocument,
    evaluation: TrainingEvaluation,
    summary: str,
    why_not: str,
    price_usd: float | None,
) -> TrainingAlternative:
    """Put a run on a cluster up as an alternative, with what it does there."""
    return TrainingAlternative(
        summary=summary,
        why_not=why_not,
        price_usd=price_usd,
        days=evaluation.days,
        mfu=evaluation.mfu,
        goodput=evaluation.goodput,
        run_usd=evaluation.run.usd,
        accelerators=evaluation.accelerators,
        power_watts=evaluation.power_watts,
        candidate=of.candidate,
        hardware=of.hardware,
        bill_of_materials=of.bill_of_materials,
    )
