"""How slow the kinds of a plan may be, and what that leaves of its promises.

A kind is an accelerator with a kind of model, under an engine or any. The errors of
rows that no fit had seen say how its steps compare with predictions (docs/reference/
model.md, section 9): one factor for all of its steps, units and loads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import NormalDist
from typing import Final

import msgspec

from planopt.catalog.open import DEFAULT_ASSUMPTIONS, Catalog
from planopt.documents.explanations import Evidence, Kind
from planopt.documents.plan import Request

WHERE_UNKNOWN: Final = 1.25
"""Measured over predicted time where no errors are known, as under assumptions other
than the fitted ones: a fifth off the speed, the error of the best public predictors of
decode speed on hardware that they were not fitted to."""
_GRADES: Final = ("measured", "family", "none")  # From the best
_NORMAL: Final = NormalDist()
_END: Final = _NORMAL.inv_cdf(0.9)
"""Standard deviations from the median to the ends of a kind's interval."""


def share(confidence: str | None) -> float | None:
    """Read a confidence, such as ``80%``."""
    return None if confidence is None else float(confidence.rstrip("%")) / 100


def kinds(
    catalog: Catalog, request: Request, accelerators: Iterable[str]
) -> dict[str, Kind]:
    """Tell what is known of the steps of a question's model on some accelerators."""
    names = [*accelerators]
    if catalog.assumptions != DEFAULT_ASSUMPTIONS:
        return {name: _unknown(name) for name in names}
    training = request.tokens is not None
    asked = {
        "model": request.model,
        "steps_on": sorted({*_every(catalog, request), *names}),
        "any_engine": not training and request.engine_name is None,
        "training": training,
    }
    # Of all of them, whichever are asked about: the core is asked once.
    known = msgspec.json.decode(
        catalog.asked_once("errors", msgspec.json.encode(asked))
    )
    return {
        name: msgspec.convert({"accelerator": name, **each}, Kind)
        if (each := known[name])
        else _unknown(name)
        for name in names
    }


def _unknown(accelerator: str) -> Kind:
    return Kind(accelerator=accelerator, low=1 / WHERE_UNKNOWN, high=WHERE_UNKNOWN)


def median(kind: Kind) -> float:
    """Half of its steps are longer: the prediction, where the interval holds it."""
    return 1.0 if kind.low <= 1 <= kind.high else math.sqrt(kind.low * kind.high)


def slower(kind: Kind, confidence: float | None) -> float:
    """How many times longer than predicted steps are, at most, with a confidence.

    Log-normal on either side of the median, through both ends of the interval.
    """
    if confidence is None:
        return 1.0
    deviations = _NORMAL.inv_cdf(confidence) / _END
    middle = median(kind)
    end = kind.high if deviations > 0 else kind.low
    return float(middle * (end / middle) ** abs(deviations))


def chance(kind: Kind, longer: float) -> float:
    """Chance that steps are no more than so many times longer than predicted."""
    middle = median(kind)
    end = kind.high if longer > middle else kind.low
    if end == middle:  # nothing is known to lie beyond
        return float(longer >= middle)
    if longer == middle:
        return 0.5
    return _NORMAL.cdf(
        math.copysign(_END, longer - middle)
        * math.log(longer / middle)
        / math.log(end / middle)
    )


def _every(catalog: Catalog, request: Request) -> set[str]:
    """Name every accelerator, and those below their power."""
    every = (each.id for each in catalog.list("accelerators"))
    return {*every, *request.accelerators}


def factors(
    catalog: Catalog, request: Request, confidence: float | None
) -> dict[str, float]:
    """Tell how slow each accelerator is judged as."""
    if confidence is None:
        return {}
    every = kinds(catalog, request, sorted(_every(catalog, request)))
    return {name: slower(kind, confidence) for name, kind in every.items()}


def left_out(catalog: Catalog, request: Request) -> tuple[str, ...]:
    """Name accelerators of which less was measured than a question asks for."""
    asked = request.evidence
    if asked in (None, "any"):
        return ()
    enough = _GRADES[: _GRADES.index(asked) + 1]
    every = kinds(catalog, request, sorted(_every(catalog, request)))
    return tuple(name for name, kind in every.items() if kind.grade not in enough)


def evidence(
    every: Mapping[str, Kind],
    confidence: float | None,
    held_to: Mapping[str, float | None],
) -> Evidence:
    """Sum up what is known of the kinds of a plan: as good as the worst of them."""
    used = [
        msgspec.structs.replace(
            kind, slower=slower(kind, confidence), held_to=held_to.get(name)
        )
        for name, kind in sorted(every.items())
    ]
    worst = max(used, key=lambda each: (_GRADES.index(each.grade), -each.rows))
    if worst.grade == "none":
        return Evidence(grade="none", kinds=tuple(used))
    return Evidence(
        grade=worst.grade, groups=worst.groups, rows=worst.rows, kinds=tuple(used)
    )


def holds_at(known: Evidence, confidence: float) -> bool:
    """Whether all promises are held where kinds are as slow as a confidence says."""
    return all(
        kind.held_to is None or slower(kind, confidence) <= kind.held_to
        for kind in known.kinds
    )


def probability(known: Evidence) -> float:
    """Chance that all kinds are fast enough, each on its own."""
    return math.prod(
        chance(kind, kind.held_to) for kind in known.kinds if kind.held_to is not None
    )
