"""Figures follow their inputs: change one, and they move as the formula says."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from planopt.article.figures import FIGURES, figure_of
from planopt.article.inputs import Inputs, Scenario, UnknownFigureError, read_scenarios
from planopt.article.reproduce import reproduce
from planopt.catalog.open import bundled_folder
from planopt.errors import InputError
from planopt.report.reproduction import render_reproduction

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SCENARIOS = read_scenarios()

Overlay = dict[str, tuple[str, str]]


def value(id_: str, **arguments: Any) -> float:
    """One figure in SI units, with other arguments of its evaluation."""
    scenario = SCENARIOS[id_].replace(**arguments)
    return figure_of(scenario.figure, Inputs(scenario))


@pytest.fixture
def figures_with(tmp_path: Path) -> Callable[[Overlay], dict[str, float]]:
    """All figures with some lines of the article's catalog replaced."""

    def figures(changes: Overlay) -> dict[str, float]:
        for file, (old, new) in changes.items():
            copy = tmp_path / "article" / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(bundled_folder() / "article" / file, copy)
            text = copy.read_text(encoding="utf-8")
            assert old in text
            copy.write_text(text.replace(old, new), encoding="utf-8")
        return figures_of(reproduce(catalog=[str(tmp_path)]))

    return figures


def figures_of(rows: list[dict[str, Any]]) -> dict[str, float]:
    return {row["id"]: row["ours"] for row in rows}


@pytest.fixture(scope="module")
def before() -> dict[str, float]:
    return figures_of(reproduce())


def test_a_faster_link_takes_its_share_of_the_time(
    before: dict[str, float], figures_with: Callable[[Overlay], dict[str, float]]
) -> None:
    after = figures_with({"links/pcie4-x16.toml": ('"32 GB/s"', '"64 GB/s"')})

    assert after["hop-330-time"] == pytest.approx(before["hop-330-time"] / 2)
    assert after["tp8-comm-330"] == pytest.approx(before["tp8-comm-330"] / 2)
    saved = before["tp8-comm-330"] / 2
    assert after["tp8-token-330"] == pytest.approx(before["tp8-token-330"] - saved)
    # Arithmetic, 17.5 ms, now outlasts the transfers, 13.5 ms.
    assert after["4090-throughput"] == pytest.approx(330 / 0.0175)
    # A message of one token waits for software, not for the line.
    assert after["tp8-xfer-1"] == before["tp8-xfer-1"]
    assert after["h100-token"] == before["h100-token"]


def test_a_faster_network_carries_larger_batches(
    before: dict[str, float], figures_with: Callable[[Overlay], dict[str, float]]
) -> None:
    after = figures_with({"links/eth-1gbe.toml": ('"0.125 GB/s"', '"0.25 GB/s"')})

    # 60 ms of 8 hops at 16,384 B a sequence: floor(2 x 57.22) = 114.
    assert (before["lan1g-batch-5tok"], after["lan1g-batch-5tok"]) == (57, 114)
    assert after["lan1g-hop-330"] == pytest.approx(before["lan1g-hop-330"] / 2)


def test_memory_bandwidth_moves_what_is_read(
    before: dict[str, float], figures_with: Callable[[Overlay], dict[str, float]]
) -> None:
    after = figures_with({"accelerators/rtx-4090.toml": ('"1000 GB/s"', '"500 GB/s"')})

    assert after["pp8-stage"] == pytest.approx(before["pp8-stage"] * 2)
    assert after["pp8-rate"] == pytest.approx(before["pp8-rate"] / 2, rel=1e-4)
    assert after["ridge-4090"] == pytest.approx(before["ridge-4090"] * 2)
    assert after["compute-1024"] == before["compute-1024"]
    assert after["ridge-h100"] == before["ridge-h100"]
    # 280 ms of arithmetic alone are below 5 tok/s, whatever the batch.
    assert after["lan1g-batch-5tok"] is None


def test_prices_move_the_bill_and_what_is_written_off(
    before: dict[str, float], figures_with: Callable[[Overlay], dict[str, float]]
) -> None:
    after = figures_with(
        {
            "accelerators/rtx-4090.toml": ('"$1600"', '"$2000"'),
            "hosts/machine-8x-rtx-4090.toml": ('"$40000"', '"$60000"'),
        }
    )

    for id_ in ("diy1-price", "diy2-price", "diy3-price"):
        assert after[id_] == before[id_] + 8 * 400
    assert after["4090-capex-h"] == pytest.approx(before["4090-capex-h"] * 1.5)
    assert after["4090-rack-h"] == before["4090-rack-h"]


@pytest.mark.parametrize(
    ("id_", "llama_8b_over_ours"),
    [
        # 32 layers of 8 x 128 keys and values against 80 of the same.
        ("kv-gqa", 32 / 80),
        # A hidden size of 4096 against 8192.
        ("hop-330", 4096 / 8192),
        ("hop-330-time", 4096 / 8192),
    ],
)
def test_another_model_has_other_figures(id_: str, llama_8b_over_ours: float) -> None:
    other = value(id_, model="llama-3.1-8b")

    assert other == pytest.approx(value(id_) * llama_8b_over_ours)


def test_the_weights_of_another_model_are_read_in_less_time() -> None:
    # The layers of a smaller model; its embedding is gathered, not read.
    read = 2 * (8_030_261_248 - 128_256 * 4096 - 65 * 4096)

    found = value("pp8-stage", model="llama-3.1-8b") * 8

    assert found == pytest.approx(read / 1e12, rel=1e-3)


def test_another_accelerator_has_its_own_rates() -> None:
    assert value("pp8-stage", accelerator="h100-sxm", host="machine-8x-h100") == (
        pytest.approx(value("pp8-stage") * 1000 / 3350)
    )
    assert value("ridge-4090", accelerator="a100-sxm-80", host=None) == pytest.approx(
        312 / 2
    )


def test_fewer_key_value_heads_save_less_arithmetic_per_token() -> None:
    # With 8 heads in place of 64: an eighth of the weights, and of the cache.
    assert value("kv-flops-saved", kv_heads=8) * 8 == pytest.approx(
        value("kv-flops-saved")
    )
    assert value("kv-flops-per-byte", kv_heads=8) == pytest.approx(
        value("kv-flops-per-byte")
    )


def test_more_prompts_need_more_cards() -> None:
    # 140 GB and 86 GB: 226 GB are 3 cards of 80 GB, 312 GB with 16 prompts are 4.
    assert value("infer-cards-h100", batch=8) == 3
    assert value("infer-cards-h100", batch=16) == 4


def test_what_no_pipeline_holds_has_no_number_of_cards() -> None:
    with pytest.raises(UnknownFigureError, match="enough"):
        value("infer-cards-4090", batch=1000)


def test_a_figure_that_does_not_exist_is_a_dash_with_its_reason(
    figures_with: Callable[[Overlay], dict[str, float]], tmp_path: Path
) -> None:
    price = 'price = { value = "$40000", source = "price" }\n'
    figures_with({"hosts/machine-8x-rtx-4090.toml": (price, "")})

    rows = reproduce(topic="cost", catalog=[str(tmp_path)])

    row = next(row for row in rows if row["id"] == "4090-capex-h")
    assert row["ours"] is None
    assert "the price is not known" in row["note"]
    assert "4090-capex-h: the price is not known" in str(render_reproduction(rows))


def test_owning_breaks_even_later_where_renting_is_cheap() -> None:
    def day(rent: str) -> float:
        example = SCENARIOS["dettmers-breakeven"]
        inputs = {**example.inputs, "rent": rent}
        return figure_of(
            example.figure, Inputs(Scenario(figure=example.figure, inputs=inputs))
        )

    assert day("$1.07/h") > 2 * day("$2.14/h")
    with pytest.raises(UnknownFigureError, match="never"):
        day("$0.01/h")


def test_every_function_has_a_row() -> None:
    chained = [each.chained for each in SCENARIOS.values() if each.chained]
    used = {each.figure for each in [*SCENARIOS.values(), *chained]}

    assert set(FIGURES) <= used


def test_only_the_topic_asked_for() -> None:
    assert {row["topic"] for row in reproduce(topic="hardware")} == {"hardware"}


def test_an_unknown_topic_names_the_known_ones() -> None:
    with pytest.raises(InputError, match="inference"):
        reproduce(topic="inferrence")


def test_the_screen_counts_what_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    rows = reproduce()

    lines = str(render_reproduction(rows)).splitlines()

    assert max(map(len, lines)) <= 100
    assert " ".join(lines[-2:]).startswith(
        "72 derived, 72 of them within 0.5%; 13 from the article's rounded inputs"
    )
    off = [{**row, "ours": 2 * row["ours"]} for row in rows if row["id"] == "pp8-rate"]
    assert "1 derived, 0 of them within" in str(render_reproduction(off))
