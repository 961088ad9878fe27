"""Errors of left-out rows by class: each row the same, and each group the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from msgspec import structs

from planopt.accuracy.columns import read_rows
from planopt.accuracy.serving_rows import ServingRow
from planopt.accuracy.training import Question, TrainingRow
from planopt.catalog.open import bundled_folder
from planopt_studies.fits.fidelity import classes_of, lines_of
from planopt_studies.fits.parameters import Parameter
from planopt_studies.fits.serving import lines_of as lines_of_serving
from planopt_studies.fits.training import Row
from planopt_studies.intervals import Unseen
from planopt_studies.prepare.__main__ import prepare

if TYPE_CHECKING:
    from pathlib import Path


def some_row() -> Row:
    rows = read_rows(bundled_folder() / "measurements" / "training.csv", (TrainingRow,))
    asked = Question(row=rows[0], model="one", request={})
    return Row(
        asked,
        family="hopper",
        has_experts=False,
        seconds=1.0,
        weight=1.0,
        fitted=True,
    )


def test_a_class_counts_rows_and_groups_alike() -> None:
    row = some_row()
    other = replace(row, question=replace(row.question, model="other"))
    _, of_all, dense = lines_of([row, row, row, other], [1.1, 1.1, 1.1, 1.5])
    assert of_all.split()[:2] == ["all", "frameworks"]
    # Rows: 10, 10, 10 and 50 %; groups: 10 and 50 %.
    assert dense.split()[1:8] == [
        *("4", "10.0%", "20.0%", "+20.0%", "2", "30.0%", "30.0%")
    ]


def test_boards_of_v100_are_judged_apart() -> None:
    row = some_row()
    old = replace(row, family="volta")
    assert list(classes_of(row)) == ["all frameworks", "dense"]
    assert list(classes_of(old)) == ["V100"]


def test_a_figure_is_put_in_its_own_table() -> None:
    of_chip = Parameter(
        table="trainers.one",
        key="sustained",
        start=1.0,
        low=0.5,
        high=2.0,
        spread=0.1,
        in_place=True,
    )
    text = "[trainers.a]\nsustained = 0.5\n\n[trainers.one]\nclock = 1\nsustained = 0.6"
    assert of_chip.put(text, 0.7) == text.replace("0.6", "0.7")
    cited = '[trainers.one]\nsustained = { value = 0.6, source = "one" }\n'
    assert of_chip.put(cited, 0.7) == cited.replace("0.6", "0.7")


def test_serving_counts_engines_and_names_what_leans() -> None:
    path = bundled_folder() / "measurements" / "inference.csv"
    row = read_rows(path, (ServingRow,))[0]
    rows = {
        str(place): structs.replace(row, engine="trtllm" if place else "vllm")
        for place in range(21)
    }
    # Half as fast again as predicted under TensorRT-LLM, right under vLLM.
    errors = [
        Unseen(metric="tpot", classes=(), ratio=1.0 if key == "0" else 1 / 1.5, row=key)
        for key in rows
    ]
    *lines, leans = lines_of_serving(errors, rows)
    of = {line.split()[1]: line.split()[3:] for line in lines}
    assert of["vllm"] == ["1", "median", "0.0%", "MAPE", "0.0%", "bias", "+0.0%"]
    assert of["both"][:2] == of["all"][:2] == ["21", "median"]
    assert leans.startswith("leans: trtllm ")
    assert leans.endswith("20 rows, bias +50.0%")


@pytest.mark.shared
def test_recipes_of_mlperf_are_read_from_their_columns(shared: Path) -> None:
    rows, _ = prepare(shared / "validation" / "mlperf_training.csv")
    of = {row.id: row for row in rows if isinstance(row, TrainingRow)}
    lora = of["mlt-50-llama270blora-086"]
    # Megatron's method `block` does the first 21 of 80 layers again, and no others.
    assert (lora.lora_rank, lora.recompute, lora.loss_chunks) == (16, "layers:21", 1)
    assert (lora.framework, lora.network) == ("mlperf", "infiniband-400g")
    gaudi = of["mlt-31-gpt3-009"]
    assert (gaudi.framework, gaudi.nics_per_host) == ("megatron-deepspeed", 24)
    # Of one name, but of another software (conventions.toml).
    assert of["mlt-31-gpt3-016"].framework == "mlperf-2023"
    assert of["mlt-40-gpt3-036"].framework == "mlperf"
