"""The only door to the second opinion: `planopt_reference` computes what planopt says.

It verifies saved plans, and records how the figures of an evaluation come about, which
agree with those of the core to 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from planopt._native import __version__
from planopt.catalog.entries import Figure as Known
from planopt.catalog.open import Catalog, bundled_folder
from planopt.documents.base import Document
from planopt.documents.derivation import Derivation, Fact, Figure
from planopt.documents.evaluation import EvaluationDocument
from planopt.documents.facts import Changed
from planopt.documents.homes import HomesPlan, NeighboursPlan
from planopt.documents.load import any_of
from planopt.documents.parts import Hardware
from planopt.documents.plan import Plan, PlanDocument, command, content_of
from planopt.documents.schema import marked_schema
from planopt.facts import changed_since
from planopt_reference import FactError as FactError
from planopt_reference import Facts, columns_mismatches, evaluate_serving, verify_plan
from planopt_reference import Mismatch as Mismatch
from planopt_reference.communication import all_reduce, fabric, scale_up_ring
from planopt_reference.derivation import Node, recording
from planopt_reference.fields import figures, leaves, mark_of
from planopt_reference.islands import islands_mismatches
from planopt_reference.neighbours import neighbours_mismatches
from planopt_reference.training import evaluate_training

_HOSTS = {"sxm": "hgx-8"}
_ANY_HOST = "pcie-8gpu"
"""Hosts that kernels are measured in, by how their accelerators are mounted."""

UNKNOWN_HOST = "unknown"
"""What the core calls a host of which nothing is known but what it holds."""


@dataclass(frozen=True)
class Verdict:
    """What came of computing a saved plan again."""

    mismatches: list[Mismatch]
    figures: int  # Figures that were computed
    buys: bool
    """Whether the plan buys anything: that nothing can be bought is not computed."""
    carries_facts: bool = True
    """Whether it is computed from facts of its own, else from the catalogs at hand."""
    changed: tuple[Changed, ...] = ()
    """Facts of the plan that are others in the catalogs at hand."""

    def __bool__(self) -> bool:
        """Whether everything agrees."""
        return not self.mismatches


def verify(plan: PlanDocument | HomesPlan | str | PathLike[str]) -> Verdict:
    """Compute a plan again, slowly and without the optimizer.

    Parameters
    ----------
    plan : Plan, TrainingPlan, FleetPlan, IslandsPlan, NeighboursPlan, str or PathLike
        A plan, or the file of one.

    Returns
    -------
    Verdict
        ``mismatches``: what does not agree; it is true where there are none.

    Raises
    ------
    InputError
        There is no such file (E006), or it is no plan (E301).

    Examples
    --------
    >>> import planopt
    >>> plan = planopt.solve("llama-3.1-8b", target="20tok/s")
    >>> bool(planopt.verify(plan))
    True
    """
    if isinstance(plan, str | PathLike):
        return verify_content(content_of(Path(plan)), str(plan))
    return _verified(plan, msgspec.json.encode(plan))


def verify_content(content: bytes, name: str) -> Verdict:
    """Compute what a file of that name holds again."""
    return _verified(any_of(content, name), content)


def _of_homes(plan: HomesPlan) -> Verdict:
    again = islands_mismatches
    if isinstance(plan, NeighboursPlan):
        again = neighbours_mismatches
    document = msgspec.json.decode(msgspec.json.encode(plan))
    try:
        mismatches, many = again(document, bundled_folder())
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        told = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        unreadable = Mismatch("best", "chains or islands", "recomputable", told)
        mismatches, many = [unreadable], 0
    return Verdict(mismatches, many, buys=many > 0, carries_facts=False)


def _verified(plan: PlanDocument | HomesPlan, text: bytes) -> Verdict:
    if not isinstance(plan, PlanDocument):
        return _of_homes(plan)
    document = msgspec.json.decode(text)
    return Verdict(
        mismatches=[
            *_as_written(plan, document),
            *verify_plan(document, bundled_folder()),
        ],
        figures=len(figures(document)),
        buys=plan.status != "infeasible",
        changed=changed_since(plan),
    )


def _as_written(plan: PlanDocument, document: object) -> Iterator[Mismatch]:
    """Ask that a file has every field that planopt writes, and no other.

    What an older version wrote has none that are newer.
    """
    stated = dict(leaves(document))
    written = dict(leaves(msgspec.json.decode(msgspec.json.encode(plan))))
    of_now = plan.provenance is None or plan.provenance.planopt == __version__
    missing = written.keys() - stated.keys() if of_now else set()
    for field in sorted(missing | (stated.keys() - written.keys())):
        told, expected = stated.get(field), written.get(field, "no such field")
        yield Mismatch(field, told, expected, "a plan has all its fields and no others")
    if plan.provenance is not None:
        said = command(getattr(plan, "kind", "serving"), plan.request)
        if plan.provenance.command != said:
            why = "as its request was typed"
            yield Mismatch("provenance.command", plan.provenance.command, said, why)


def columns_again(
    plan: PlanDocument, columns: Iterable[Mapping[str, object]]
) -> list[Mismatch]:
    """Compute columns of the purchase that a plan is the best of again."""
    request = msgspec.to_builtins(plan.request)
    return columns_mismatches(request, columns, bundled_folder())


def schema(kind: type[Document] = Plan) -> dict[str, Any]:
    """JSON Schema of a document.

    In a plan each figure says under ``x-planopt`` whether `planopt verify` computes it
    again (``verified``), holds it against others (``checked``), or takes it as a remark
    (``informative``).
    """
    return marked_schema(kind, mark_of)


def derivation_of_plan(plan: PlanDocument) -> tuple[Derivation, ...]:
    """Record how the reference works a plan out, from the facts that it carries."""
    with recording() as roots:
        verify_plan(msgspec.json.decode(msgspec.json.encode(plan)), bundled_folder())
    return tuple(_derivation(root, {}) for root in roots)


def derivation_of_serving(
    evaluation: EvaluationDocument,
    catalog: Catalog,
    *,
    prompt: int,
    kv_heads: int | None,
    pcie_all_reduce: str | None,
    hosts: int | None = None,
    step_tokens: int | None = None,
) -> tuple[Derivation, ...]:
    """Work an evaluation out by the reference, and record how."""
    candidate, hardware = evaluation.candidate, evaluation.hardware
    if evaluation.context_tokens is None:
        return ()
    facts = _read(catalog, pcie_all_reduce, evaluation.engine, step_tokens)
    layout = msgspec.structs.asdict(candidate)
    del layout["image_tokens"]  # They are counted in the prompt.
    given: dict[str, Any] = {
        **{name: value for name, value in layout.items() if value is not None},
        "model": _model(catalog, str(evaluation.model)),
        "host": _known(hardware.host),
        "accelerators_per_host": candidate.accelerators // hosts if hosts else None,
        "network": hardware.network,
        "nics_per_host": hardware.nics_per_host,
        "context": evaluation.context_tokens,
        "prompt": prompt,
        "kv_heads": kv_heads,
    }
    return _derive(lambda: evaluate_serving(facts, **given), catalog, given)


def derivation_of_training(
    request: Mapping[str, Any], hardware: Hardware, catalog: Catalog
) -> tuple[Derivation, ...]:
    """Work a run out by the reference, and record how."""
    facts = _read(catalog)
    said = {
        name: value
        for group in ("model", "recipe", "run", "hardware", "layout")
        for name, value in request[group].items()
        if value is not None
    }
    model = _model(catalog, said.pop("name"))
    given = {**said, "model": model, "host": _known(hardware.host)}
    return _derive(lambda: evaluate_training(facts, **given), catalog, given)


def _read(
    catalog: Catalog,
    pcie_all_reduce: str | None = None,
    engine: str | None = None,
    step_tokens: int | None = None,
) -> Facts:
    """Let the reference read the same catalogs, by its own means."""
    return Facts(
        bundled_folder(),
        [Path(folder) for folder in catalog.overlays],
        assumptions=catalog.assumptions,
        pcie_all_reduce=pcie_all_reduce,
        engine=engine,
        step_tokens=step_tokens,
        pricing=msgspec.structs.asdict(catalog.pricing),
    )


def _model(catalog: Catalog, model: str) -> dict[str, object] | str:
    """Return a model that is a file as it is: any other can be looked up again."""
    if Path(model).suffix not in (".json", ".toml"):
        return model
    return catalog.architecture(model)


def _known(host: str | None) -> str | None:
    """Return the id of a host; none where no host of the catalog takes them."""
    return None if host == UNKNOWN_HOST else host


def _derive(
    work: Callable[[], object], catalog: Catalog, given: Mapping[str, Any]
) -> tuple[Derivation, ...]:
    """Record what the reference does, with the source of each fact."""
    entities = {
        kind: given[kind]
        for kind in ("accelerator", "host", "network")
        if given.get(kind)
    }
    with recording() as roots:
        work()
    facts = _facts(catalog, entities)
    return tuple(_derivation(root, facts) for root in roots)


def _derivation(node: Node, facts: Mapping[str, Fact]) -> Derivation:
    return Derivation(
        name=node.name,
        formula=node.formula,
        page=node.page,
        section=node.section,
        inputs=dict(node.inputs),
        facts=tuple(facts[name] for name in node.reads if name in facts),
        result=tuple(
            Figure(name=name, value=value, unit=node.unit)
            for name, value in node.result.items()
        ),
        times=node.times,
        children=tuple(_derivation(child, facts) for child in node.children),
    )


def _facts(catalog: Catalog, entities: Mapping[str, str]) -> dict[str, Fact]:
    """Every figure that a formula may have looked up, by the name it has there."""
    (assumptions,) = catalog.list("assumptions")
    facts = {
        figure.field: _fact(figure.field, figure)
        for figure in catalog.show("assumptions", assumptions.id).figures
    }
    for kind, id_ in entities.items():
        for figure in catalog.show(f"{kind}s", id_).figures:
            name = f"{kind}.{figure.field}"
            facts[name] = _fact(name, figure)
    # What an accelerator has of its own stands in place of the general assumption.
    own = f"accelerators.{entities.get('accelerator')}."
    for name in [name for name in facts if name.startswith(own)]:
        facts[f"compute.{name.removeprefix(own)}"] = facts[name]
    return facts


def _fact(name: str, figure: Known) -> Fact:
    known = ", ".join(word for word in (figure.date, figure.status) if word)
    return Fact(
        name=name,
        text=figure.text,
        source=f"{figure.cite} ({known})" if figure.cite else None,
    )


def all_reduce_in_a_host(
    payload: float, accelerator: str, ranks: int, *, ring: bool, assumptions: str
) -> float | None:
    """Compute the seconds of an all-reduce; none if no host takes so many ranks."""
    facts = _bundled(assumptions)
    card = facts.accelerator(accelerator)
    host = facts.host(_HOSTS.get(card.form_factor, _ANY_HOST))
    if not 1 < ranks <= max(host.slots, card.scale_up_domain):
        return None
    links = fabric(facts, card, host, None, nics_per_host=0, t=ranks, p=1)
    if ring and ranks <= card.scale_up_domain:
        return scale_up_ring(payload, ranks, links)
    return all_reduce(payload, links)


@lru_cache(maxsize=4)
def _bundled(assumptions: str) -> Facts:
    return Facts(bundled_folder(), assumptions=assumptions)
