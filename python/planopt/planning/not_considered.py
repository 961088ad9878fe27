"""What was not considered, and what would bring it in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from planopt.documents.parts import NotConsidered
from planopt.market import CLASSES
from planopt.planning.question import TrainingQuestion
from planopt.planning.sensitivity import is_wide

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from planopt.planning.question import ServingQuestion


class _LeftOut(msgspec.Struct, frozen=True):
    """Accelerators, and at last offers, by what keeps them out."""

    licence: tuple[str, ...]
    price: tuple[str, ...]
    power: tuple[str, ...]
    host: tuple[str, ...]
    class_: tuple[str, ...] = msgspec.field(name="class")


_BOUGHT: Final = {
    "licence": ("licence forbids data centers", "leave out --datacenter"),
    "price": ("no price {condition}", "--price ID=USD, or --procurement rent"),
    "power": ("power is not known", "an overlay with --catalog DIR"),
    "host": ("no host that holds them has a price", "an overlay with --catalog DIR"),
}
_NOT_RENTED: Final = (
    "nobody rents them out on these terms",
    "other --billing, --provider or --provider-class",
)
_RENTED: Final = dict.fromkeys(_BOUGHT, _NOT_RENTED) | {"licence": _BOUGHT["licence"]}
_OF_SESSIONS: Final = NotConsidered(
    what="deployments",
    count=2,
    names=("two pools", "other routers"),
    why="a session goes to the replica that has fewest, and stays",
    help="--router; evaluate serving --prefill-tp N for two pools, without sessions",
)

_ODD: Final = NotConsidered(
    what="layouts",
    count=1,
    names=("stages divided among hosts over TCP",),
    why="engines send only activations over TCP",
    help="--allow-odd",
)

_UNEVEN: Final = NotConsidered(
    what="layouts",
    count=1,
    names=("uneven pipelines of other than 2^n or 3 x 2^n stages",),
    why="nobody builds uneven pipelines",
    help="--allow-odd",
)

_LESS_POWER: Final = NotConsidered(
    what="layouts",
    count=1,
    names=("cards below their power",),
    why="lower power pays only where power is short",
    help="--max-power, or --accelerators ID@WATTS",
)

_UNLIKE = NotConsidered(
    what="replicas",
    count=1,
    names=("cards of different kinds in one replica",),
    why="a replica that is bought has cards of one kind",
    help="--own 3xrtx-5090,3xrtx-4090,ethernet-25g lays out what is there",
)


def not_considered(
    question: ServingQuestion | TrainingQuestion,
) -> tuple[NotConsidered, ...]:
    """Name accelerators that nothing can be built of, by what keeps them out."""
    problem = question.problem
    hardware = {
        **problem.asked["hardware"],
        "accelerators": problem.accelerators,
        "exclude": (*problem.exclude, *problem.left_out),
        "hosts": [],
    }
    rent = problem.rent_request()
    asked: list[dict[str, object]] = []
    if problem.procurement != "rent":
        asked.append({"hardware": hardware})
    if problem.rents:
        asked.append({"hardware": hardware, "rent": rent})
    every = [question.catalog.ask("left_out", one, _LeftOut) for one in asked]
    first, *more = every
    # What can be rented is considered where both are open.
    kept = [{name for names in _names(each) for name in names} for each in more]
    reasons = _RENTED if problem.procurement == "rent" else _BOUGHT
    told: dict[tuple[str, str], list[str]] = {}
    for names, reason in zip(_names(first), reasons.values(), strict=True):
        left = [name for name in names if all(name in out for out in kept)]
        told.setdefault(reason, []).extend(left)
    unmeasured = problem.left_out
    if problem.accelerators:
        unmeasured = tuple(set(unmeasured).intersection(problem.accelerators))
    told[
        "too little was measured of them with this kind of model", "--evidence any"
    ] = [*unmeasured]
    accelerators = tuple(
        NotConsidered(
            what="accelerators",
            count=len(names),
            names=tuple(names),
            why=why.format(condition=problem.condition),
            help=help_,
        )
        for (why, help_), names in told.items()
        if names
    )
    others = (
        *accelerators,
        *_of_classes(problem.provider_classes, every[-1].class_),
    )
    if isinstance(question, TrainingQuestion):
        return others if question.problem.allow_odd else (*others, _UNEVEN)
    asked_for = {
        _OF_SESSIONS: question.problem.session_load is None,
        _ODD: question.problem.allow_odd,
        _LESS_POWER: question.problem.max_power_watts is not None,
        _UNLIKE: len(_kinds_there(question)) < 2,
    }
    restrictions = (each for each, is_lifted in asked_for.items() if not is_lifted)
    others = (*others, *restrictions)
    if not is_wide(question):
        return others
    near = NotConsidered(
        what="changes of the question",
        count=2,
        names=("sensitivity", "prices at other confidences"),
        why="each would take as long again as the answer did",
        help="a longer --time-limit, fewer --accelerators, or ask with the change",
    )
    return (*others, near)


def _kinds_there(question: ServingQuestion) -> set[str]:
    """Return the accelerators of which there are so many and no more."""
    cards = {each.id for each in question.catalog.list("accelerators")}
    return cards & {*question.problem.stock, *question.problem.own}


def _of_classes(
    asked: Container[str], offers: tuple[str, ...]
) -> Iterator[NotConsidered]:
    """Count the offers for which others answer than those who are asked for."""
    others = " and ".join(each for each in CLASSES if each not in asked)
    if offers:
        yield NotConsidered(
            what="offers",
            count=len(offers),
            names=tuple(dict.fromkeys(each.partition("/")[0] for each in offers)),
            why=f"{others} machines",
            help="--provider-class any",
        )


def _names(left: _LeftOut) -> Iterator[tuple[str, ...]]:
    yield from (left.licence, left.price, left.power, left.host)
