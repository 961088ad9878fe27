"""``--explain``: the tree says what was computed, and where each input comes from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.catalog.open import open_catalog
from planopt.errors import InputError
from planopt.report.derivation import derivation as trees
from planopt.report.table import Report
from planopt_reference.derivation import FORMULAS, formula, recording

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from planopt.documents.derivation import Derivation
    from planopt.documents.evaluation import EvaluationDocument


@formula("area = width x height", section="0", unit="m2", reads=("compute.half_rows",))
def area(width: float, height: float) -> float:
    return width * height


@formula("volume = area x depth", section="0", unit="m3")
def volume(width: float, height: float, depth: float) -> float:
    return sum(area(width, height) for _ in range(2)) / 2 * depth


def test_a_tree_has_inputs_results_and_counts_what_is_alike() -> None:
    with recording() as roots:
        volume(2.0, 3.0, depth=4.0)

    (root,) = roots
    assert root.name == "volume"
    assert root.inputs == {"width": 2.0, "height": 3.0, "depth": 4.0}
    assert root.result == {"": 24.0}
    (child,) = root.children
    assert (child.name, child.times, child.result) == ("area", 2, {"": 6.0})
    assert child.reads == ("compute.half_rows",)


def test_nothing_is_recorded_outside_of_a_recording() -> None:
    with recording() as roots:
        pass
    volume(1.0, 1.0, 1.0)

    assert roots == []


def test_a_formula_that_fails_leaves_no_trace_behind() -> None:
    @formula("1/0", section="0")
    def broken() -> float:
        return area(1.0, 1.0) / 0

    with recording() as roots:
        with pytest.raises(ZeroDivisionError):
            broken()
        area(1.0, 2.0)

    assert [root.name for root in roots] == ["area"]


def explained() -> EvaluationDocument:
    return planopt.evaluate(
        model="llama-3.1-8b", accelerator="rtx-4090", tp=2, batch=4, explain=True
    )


def everything(derivations: tuple[Derivation, ...]) -> Iterator[Derivation]:
    for derivation in derivations:
        yield derivation
        yield from everything(derivation.children)


def test_the_tree_ends_in_the_figures_of_the_evaluation() -> None:
    evaluation = explained()
    roots: dict[str, Derivation] = {}
    for root in evaluation.derivation:
        # Of the steps the first decodes; another one has a prompt beside it.
        roots.setdefault(root.name, root)

    decode = {figure.name: figure.value for figure in roots["step_time"].result}
    assert decode["step"] == pytest.approx(evaluation.decode.step_seconds, rel=1e-9)
    for part in ("compute", "memory", "communication", "offload", "host"):
        told = getattr(evaluation.decode, f"{part}_seconds")
        assert decode[f"turn.{part}"] == pytest.approx(told, rel=1e-9), part
    prefill = {figure.name: figure for figure in roots["prefill_time"].result}
    assert prefill["seconds"].value == pytest.approx(
        evaluation.prefill.seconds, rel=1e-9
    )
    assert prefill["parts.host"].value > 0
    assert prefill["seconds"].unit == "s"
    memory = roots["fullest_stage_memory"].result
    assert evaluation.memory is not None
    stated = {figure.name: figure.value for figure in memory}
    assert stated["weights"] == pytest.approx(evaluation.memory.weights_bytes)
    assert stated["kv_cache"] == pytest.approx(evaluation.memory.kv_cache_bytes)


RUN: dict[str, Any] = {
    "model": "llama-3.1-8b",
    "accelerator": "h100-sxm",
    "tp": 2,
    "pp": 2,
    "dp": 2,
    "tokens": "1T",
}


def test_a_run_of_training_explains_itself_too() -> None:
    run = planopt.evaluate_training(**RUN, explain=True)
    last = {node.name: node for node in everything(run.derivation)}

    def results(name: str) -> dict[str, float]:
        return {figure.name: figure.value for figure in last[name].result}

    step = results("step_of")
    assert sum(step.values()) == pytest.approx(run.step_seconds, rel=1e-9)
    assert step["tensor_seconds"] == pytest.approx(run.step.tensor_seconds, rel=1e-9)
    assert results("failures_of")["goodput"] == pytest.approx(run.goodput, rel=1e-9)
    totals = [
        figure.value
        for node in everything(run.derivation)
        for figure in node.result
        if node.name == "memory_of" and figure.name == "total_bytes"
    ]
    assert run.memory is not None
    assert max(totals) == pytest.approx(run.memory.total_bytes, rel=1e-9)
    assert last["product_time"].facts
    assert "training.md, section 7" in str(run)
    assert not planopt.evaluate_training(**RUN).derivation


ACCELERATORS = [each.id for each in open_catalog().list("accelerators")]


@pytest.mark.parametrize("accelerator", ACCELERATORS)
@pytest.mark.parametrize("tp", [1, 2, 8])
def test_every_accelerator_explains_how_it_serves(accelerator: str, tp: int) -> None:
    served = planopt.evaluate(
        model="llama-3.1-8b", accelerator=accelerator, tp=tp, explain=True
    )
    steps = [each for each in served.derivation if each.name == "step_time"]
    if served.decode.step_seconds is None:
        # A layout or a format that cannot be is refused before anything is computed.
        assert served.rejections
        return
    decode = {figure.name: figure.value for figure in steps[0].result}
    assert decode["step"] == pytest.approx(served.decode.step_seconds, rel=1e-9)


@pytest.mark.parametrize("accelerator", ACCELERATORS)
@pytest.mark.parametrize("tp", [1, 8])
def test_every_accelerator_explains_how_it_trains(accelerator: str, tp: int) -> None:
    run = planopt.evaluate_training(
        model="llama-3.2-1b", accelerator=accelerator, tp=tp, tokens="1B", explain=True
    )
    steps = [node for node in everything(run.derivation) if node.name == "step_of"]
    if run.step_seconds is None:
        assert run.rejections
        return
    parts = sum(figure.value for figure in steps[-1].result)
    assert parts == pytest.approx(run.step_seconds, rel=1e-9)


def test_hosts_that_are_asked_for_are_those_explained() -> None:
    served = planopt.evaluate(
        model="llama-3.1-8b",
        accelerator="rtx-4090",
        host="pcie-8gpu",
        network="infiniband-400g",
        hosts=2,
        tp=4,
        pp=2,
        explain=True,
    )
    step = next(each for each in served.derivation if each.name == "step_time")
    decode = {figure.name: figure.value for figure in step.result}
    assert served.hardware is not None
    assert served.hardware.hosts == 2
    assert decode["step"] == pytest.approx(served.decode.step_seconds, rel=1e-9)


def test_a_link_of_ones_own_is_not_explained() -> None:
    with pytest.raises(InputError, match="E004"):
        planopt.evaluate(accelerator="h100-sxm", link="pcie4-x16", explain=True)


def test_what_the_reference_does_not_work_out_is_not_explained() -> None:
    with pytest.raises(InputError, match="E004"):
        planopt.evaluate_training(**RUN, link="nvlink-3", explain=True)


def test_facts_carry_their_source() -> None:
    facts = {
        fact.name: fact
        for node in everything(explained().derivation)
        for fact in node.facts
    }

    bandwidth = facts["accelerator.memory_bandwidth"]
    assert bandwidth.text == "1008 GB/s"
    assert bandwidth.source is not None
    assert "TechPowerUp" in bandwidth.source


def test_every_fact_that_a_formula_reads_exists() -> None:
    catalog = open_catalog()
    fields = {
        figure.field for figure in catalog.show("assumptions", "calibrated").figures
    }
    for kind, ids in {
        "accelerator": ("h100-sxm", "rtx-4090", "b200"),
        "host": ("pcie-8gpu",),
        "network": ("ethernet-10g",),
    }.items():
        for id_ in ids:
            shown = catalog.show(f"{kind}s", id_).figures
            fields |= {f"{kind}.{figure.field}" for figure in shown}
    # What an accelerator reaches may be said of it alone.
    fields |= {re.sub(r"^accelerators\.[^.]+\.", "compute.", field) for field in fields}
    missing = {
        f"{name}: {read}"
        for name, marked in FORMULAS.items()
        for read in marked.reads
        if name.startswith("planopt_reference.") and read not in fields
    }

    assert missing == set()


@pytest.mark.parametrize("page", ["model.md", "serving.md", "training.md"])
def test_every_formula_stands_in_its_section_of_the_page(
    repository: Path, page: str
) -> None:
    text = (repository / "docs" / "reference" / page).read_text(encoding="utf-8")
    sections = re.findall(r"(?m)^## (\d+)\.", text)
    ours = {
        marked.section
        for name, marked in FORMULAS.items()
        if name.startswith("planopt_reference.") and marked.page == page
    }

    assert sections == [str(place) for place in range(1, len(sections) + 1)]
    assert ours
    assert ours <= set(sections)


def test_it_is_drawn_as_a_tree_with_numbered_sources() -> None:
    text = str(Report(*trees(explained().derivation)))

    assert "step time = step" in text
    assert "+- " in text
    assert re.search(r"accelerator\.memory_bandwidth = 1008 GB/s +\[\d+\]", text)
    assert re.search(r"(?m)^  \[1\] ", text)
