"""Formats are data: what files of them weigh, and what is said of other names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import planopt
from planopt._native import formats
from planopt.cli import main
from planopt.toml import loads
from planopt_reference import formats as second

CATALOGS = Path(__file__).parents[2] / "catalogs"

PARAMETERS = 8_030_261_248
"""Of Llama-3.1-8B."""

# Average bits of files of Llama-3.1-8B (ggml-org/llama.cpp@311c2c9f,
# tools/quantize/README.md).
PUBLISHED = {
    "iq1_s": 2.0042,
    "iq2_xs": 2.5882,
    "iq3_m": 3.7628,
    "iq4_xs": 4.4597,
    "q2_k": 3.1593,
    "q3_k_s": 3.6429,
    "q4_k_s": 4.6672,
    "q4_k_m": 4.8944,
    "q5_k_m": 5.7036,
    "q6_k": 6.5633,
    "q8_0": 8.5008,
}


def weighs(model: str, weights: str) -> float:
    answer = planopt.evaluate(
        model=model, accelerator="b300", weights=weights, batch=1, max_model_len=512
    )
    assert answer.memory is not None
    return answer.memory.weights_bytes


@pytest.mark.parametrize(("name", "bits"), PUBLISHED.items())
def test_a_file_of_llama_cpp_weighs_its_published_average(
    name: str, bits: float
) -> None:
    found = 8 * weighs("llama-3.1-8b", name) / PARAMETERS
    assert found == pytest.approx(bits, rel=2e-3)


def test_a_mix_of_another_size_is_another_average() -> None:
    # 4.82 bits a weight of 70B: 42.5 GB.
    assert weighs("llama-3.1-70b", "q4_k_m") == pytest.approx(42.5e9, rel=2e-3)


def test_core_and_reference_have_the_same_formats() -> None:
    assert set(formats()) == set(second.BYTES_PER_ELEMENT)
    assert len(formats()) > 120


@pytest.mark.parametrize(
    ("called", "name"),
    [
        ("AWQ", "awq-int4-g128"),
        ("fp8-per-tensor", "fp8"),
        ("W4A16", "compressed-tensors-w4a16-g128"),
        ("Q4_K_M", "q4_k_m"),
    ],
)
def test_a_format_is_asked_for_as_people_write_it(called: str, name: str) -> None:
    plan = planopt.solve(
        model="qwen3-8b", weights=called, target="20tok/s", accelerators="rtx-4090"
    )
    assert plan.request.weights == plan.deployments[0].candidate.weights == name
    assert planopt.verify(plan)


def test_all_that_formats_are_called_are_formats() -> None:
    families: Any = loads((CATALOGS / "formats.toml").read_text("utf-8"))
    of_each = (each.get("called", {}) for each in families.values())
    called = [name for names in of_each for name in names.values()]
    assert len(called) > 15
    assert set(called) <= set(formats())


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("Qwen/Qwen3-8B-AWQ", "--model qwen3-8b --weights awq-int4-g128"),
        ("Llama-3.3-70B-Instruct-FP8-dynamic", "--model llama-3.3-70b --weights fp8"),
    ],
)
def test_a_quantised_checkpoint_is_a_model_and_a_format(model: str, said: str) -> None:
    with pytest.raises(planopt.InputError, match=said):
        planopt.solve(model=model, target="20tok/s")


def test_a_name_that_is_none_is_told_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    wrong = ("--weights", "q4_km", "--kv", "q8", "--allow-quantization", "awq-int5")
    with pytest.raises(SystemExit):
        main(["solve", "--target", "5tok/s", *wrong])
    said = capsys.readouterr().err
    assert said.count("error[E001]") == 3
    assert "did you mean `q4_k_m`" in said
    assert "awq-int4-g128" in said
