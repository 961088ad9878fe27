"""Figures of training follow their inputs, as those of serving do."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from planopt.article.figures import figure_of
from planopt.article.inputs import Inputs, UnknownFigureError, read_scenarios
from planopt.article.reproduce import reproduce
from planopt.catalog.open import bundled_folder

if TYPE_CHECKING:
    from pathlib import Path

SCENARIOS = read_scenarios()


def value(id_: str, **arguments: Any) -> float:
    """One figure in SI units, with other arguments of its evaluation."""
    scenario = SCENARIOS[id_].replace(**arguments)
    return figure_of(scenario.figure, Inputs(scenario))


def value_from(id_: str, **inputs: Any) -> float:
    """The same with other inputs of the article's own."""
    scenario = SCENARIOS[id_]
    other = msgspec.structs.replace(scenario, inputs={**scenario.inputs, **inputs})
    return figure_of(other.figure, Inputs(other))


def figures_with(tmp_path: Path, file: str, old: str, new: str) -> dict[str, Any]:
    """All figures of training with a line of the article's catalog replaced."""
    copy = tmp_path / "article" / file
    copy.parent.mkdir(parents=True)
    shutil.copy(bundled_folder() / "article" / file, copy)
    text = copy.read_text(encoding="utf-8")
    assert old in text
    copy.write_text(text.replace(old, new), encoding="utf-8")
    return figures(reproduce(topic="training", catalog=[str(tmp_path)]))


def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {row["id"]: row["ours"] for row in rows}


@pytest.fixture(scope="module")
def before() -> dict[str, Any]:
    return figures(reproduce(topic="training"))


def test_over_a_slower_link_fewer_ranks_divide_a_layer(
    before: dict[str, Any], tmp_path: Path
) -> None:
    after = figures_with(tmp_path, "links/pcie4-x16.toml", '"32 GB/s"', '"16 GB/s"')

    moved = {id_ for id_ in before if after[id_] != before[id_]}
    assert moved == {"tp-max-4090", "dp-time-comm"}
    assert after["tp-max-4090"] == pytest.approx(before["tp-max-4090"] / 2)
    assert after["dp-time-comm"] == pytest.approx(before["dp-time-comm"] * 2, rel=1e-3)


def test_a_faster_card_waits_for_its_link_sooner(
    before: dict[str, Any], tmp_path: Path
) -> None:
    after = figures_with(
        tmp_path, "accelerators/rtx-4090.toml", '"330 TFLOPS"', '"660 TFLOPS"'
    )

    assert after["tp-max-4090"] == pytest.approx(before["tp-max-4090"] / 2)
    assert after["tp-head-bandwidth"] == pytest.approx(before["tp-head-bandwidth"] * 2)
    assert after["dp-time-compute"] == pytest.approx(before["dp-time-compute"] / 2)
    assert after["tp-max-h100"] == before["tp-max-h100"]
    assert after["dp-compute"] == pytest.approx(before["dp-compute"])


def test_larger_cards_hold_the_same_in_fewer(
    before: dict[str, Any], tmp_path: Path
) -> None:
    after = figures_with(tmp_path, "accelerators/rtx-4090.toml", '"24 GB"', '"48 GB"')

    # 1850.144 GB: 38.5 cards of 48 GB.
    assert (before["cards-24"], after["cards-24"]) == (78, 39)
    assert after["cards-80"] == before["cards-80"]


def test_a_model_of_half_the_layers_trains_with_half_the_memory(
    before: dict[str, Any], tmp_path: Path
) -> None:
    # 40 layers of 875e6 parameters.
    folder = tmp_path / "article" / "models"
    folder.mkdir(parents=True)
    text = (bundled_folder() / "article/models/article-70b.toml").read_text("utf-8")
    for old, new in (("layers = 80", "layers = 40"), ("70000000000", "35000000000")):
        assert old in text
        text = text.replace(old, new)
    (folder / "article-70b.toml").write_text(text, encoding="utf-8")

    after = figures(reproduce(topic="training", catalog=[str(tmp_path)]))

    for id_ in ("train-flops", "mem-weights", "mem-grads", "mem-adam", "mem-sgd"):
        assert after[id_] == pytest.approx(before[id_] / 2)
    assert after["mem-activations"] == before["mem-activations"]
    saved = before["mem-total"] - after["mem-total"]
    assert saved == pytest.approx((140 + 140 + 840) / 2)
    assert after["pp-recompute-quadratic"] == 40 * 41 / 2
    assert after["mtbf"] == before["mtbf"]


@pytest.mark.parametrize(
    ("id_", "arguments", "ratio"),
    [
        # Half of the tokens.
        ("train-flops", {"tokens": "1T"}, 1 / 2),
        # 32 bits in place of 16.
        ("mem-weights", {"precision": "fp32"}, 2),
        ("mem-grads", {"gradients": "fp32"}, 2),
        # A master weight and one moment, a moment in 8 bits, of 12 bytes.
        ("mem-adam", {"optimizer": "adam8bit"}, (4 + 2) / 12),
        ("mem-adam", {"optimizer": "sgd"}, 8 / 12),
        # 10 + 24/t bytes of each element of the stream.
        ("mem-activations", {"tp": 8}, (10 + 24 / 8) / 34),
        ("mem-activations", {"tp": 8, "sequence_parallel": True}, 1 / 8),
        ("mem-activations", {"micro_batch": 1}, 1 / 8),
        ("mem-activations", {"recompute": "full"}, 2 / 34),
        # And 5 a s / h of it without recomputation.
        (
            "mem-activations",
            {"recompute": "none"},
            (34 + 5 * 64 * 4096 / 8192) / 34,
        ),
        ("pp-inflight", {"pp": 40}, 79 / 159),
        ("dp-compute", {"micro_batch": 4, "global_batch": 4}, 1 / 2),
        ("dp-time-compute", {"mfu": 0.5}, 2),
        # 16 bits there, 32 back.
        ("dp-time-comm", {"gradients": "fp16"}, 6 / 8),
        ("dp-global-batch", {"micro_batch": 4}, 1 / 2),
        # A third of queries, keys and values is left, and two kinds of 8 in 64 heads.
        ("tp-head-intensity", {"kv_heads": 8}, (1 + 2 / 8) / 3),
        ("mtbf", {"dp": 1024}, 2),
    ],
)
def test_a_figure_moves_as_its_formula_says(
    id_: str, arguments: dict[str, Any], ratio: float
) -> None:
    assert value(id_, **arguments) == pytest.approx(value(id_) * ratio, rel=1e-3)


def test_a_narrower_model_is_divided_less() -> None:
    # 3 h / (rate / bandwidth): a hidden size of 4096 in place of 8192.
    other = value("tp-max-h100", model="llama-3.1-8b", kv_heads=32)

    assert other == pytest.approx(value("tp-max-h100") / 2)


def test_hours_are_worked_off_by_as_many_cards_as_there_are() -> None:
    a_card = value("train-gpu-days-1")
    many = value("train-gpus-month")

    assert value_from("train-gpu-days-1", accelerators=1000) == a_card / 1000
    assert value_from("train-gpus-month", period="60 d") == many / 2
    assert value_from("train-gpu-days-1", accelerators=many) == pytest.approx(
        30 * 86_400
    )


def test_what_cannot_be_laid_out_has_no_figure() -> None:
    with pytest.raises(UnknownFigureError, match="81"):
        value("pp-inflight", pp=81)
    with pytest.raises(UnknownFigureError, match="network"):
        value("pp-inflight", network=None)
    with pytest.raises(UnknownFigureError, match="the length of the run"):
        value("train-flops", tokens=None)
