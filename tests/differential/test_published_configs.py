"""Published configurations of today's families against the totals of their sources.

Every one whose total the arithmetic reproduces is equal to the last weight; the others
stand here, each with the difference and its reason, or with what cannot be read yet.
"""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.catalog.open import open_catalog
from planopt.errors import InputError
from planopt_reference.architecture import model_from_table

if TYPE_CHECKING:
    from pathlib import Path

TOWER = "the vision tower is not read"
TOWERS = "the towers of vision and speech are not read"
STORED_TWICE = "the tied head is stored again"
OWN_MATRICES = "the module of multi-token prediction stores its own embedding and head"
ROUND = "the source's total is a round figure"
BIASES = "biases of the routing scores are not counted"
MODULE = "its configuration does not name its modules of multi-token prediction"
OTHER_HEADS = "the reconstruction has the heads of the 27B"

# Total of the source less that of the arithmetic, and why.
DIFFERENT = {
    "deepseek-v3.1": (1_894_898_576, f"{OWN_MATRICES}, and scales of FP8 blocks"),
    "deepseek-v3.2": (1_853_358_080, OWN_MATRICES),
    "gemma-3-12b": (421_290_864, TOWER),
    "gemma-3-4b": (419_816_304, TOWER),
    "gemma-3n-e2b": (983_281_504, TOWERS),
    "gemma-3n-e4b": (983_281_504, TOWERS),
    "gemma-4-26b-a4b": (572_794_416, TOWER),
    "gemma-4-31b": (575_743_536, TOWER),
    "glm-4.5-air": (1_241_513_984, OWN_MATRICES),
    "glm-4.7": (1_551_892_480, OWN_MATRICES),
    "glm-4.7-flash": (634_388_480, OWN_MATRICES),
    "internlm2-7b": (-1_453_068_288, "nothing explains it: InternLM says 7.7 billion"),
    "kimi-k2-thinking": (7808, "nothing explains it: 128 for each layer"),
    "kimi-k2.5": (471_143_920, TOWER),
    "kimi-k2.6": (471_143_920, TOWER),
    "kimi-k2.7-code": (471_143_920, TOWER),
    "llama-4-maverick-17b-128e": (871_932_416, TOWER),
    "mimo-v2-flash": (1_006_537_536, f"{MODULE}; scales of FP8 blocks"),
    "minimax-m3": (865_567_232, TOWER),
    "minimax-m2.5": (13_880_064, "scales of FP8 blocks"),
    "ministral-3-14b": (440_473_600, TOWER),
    "mistral-large-3": (1_578_902_784, f"{TOWER}; {ROUND}"),
    "mistral-small-3.1-24b": (438_958_080, TOWER),
    "nemotron-3-nano": (-2944, BIASES),
    "nemotron-3-super": (-20_992, BIASES),
    "nemotron-3-ultra": (-25_088, BIASES),
    "nemotron-3.5-lightning-30b-a3b": (-2_913_266_240, ROUND),
    "qwen2-vl-7b": (675_759_104, TOWER),
    "qwen2.5-vl-32b": (688_841_984, TOWER),
    "qwen2.5-vl-3b": (668_684_288, TOWER),
    "qwen2.5-vl-72b": (704_573_696, TOWER),
    "qwen2.5-vl-7b": (676_550_144, TOWER),
    "qwen3-next-80b-a3b": (1_650_471_424, MODULE),
    "qwen3.5-122b-a10b": (451_290_864, TOWER),
    "qwen3.5-27b": (460_730_096, TOWER),
    "qwen3.5-35b-a3b": (446_571_248, TOWER),
    "qwen3.5-397b-a17b": (456_010_480, TOWER),
    "qwen3.5-4b": (-681_835_776, OTHER_HEADS),
    "qwen3.5-9b": (-151_312_400, OTHER_HEADS),
    "step-3.7-flash": (
        4_777_566_976,
        f"{TOWER}; its configuration leaves out the heads of layers with a window, and "
        "the modules store their own embeddings and heads",
    ),
    "qwen3-0.6b": (155_582_464, STORED_TWICE),
    "qwen3-1.7b": (311_164_928, STORED_TWICE),
    "qwen3-vl-235b-a22b": (576_388_336, TOWER),
    "qwen3-vl-2b": (406_957_056, TOWER),
    "qwen3-vl-30b-a3b": (538_631_408, TOWER),
    "qwen3-vl-32b": (595_266_800, TOWER),
    "qwen3-vl-4b": (415_347_712, TOWER),
    "qwen3-vl-8b": (576_388_336, TOWER),
}
# Share of a tower that is biases, norms and, but for the last, a table of positions.
OF_A_TOWER = (
    *(("gemma-4", 0.042), ("gemma-3", 0.013), ("kimi", 0.011), ("qwen3", 0.007)),
    ("", 0.001),
)
# Types with an operation that the list has not; they are refused by name.
NOT_READ = {
    *("deepseek_v4", "mllama_text_model"),
}
# What reconstructions leave out: the type, or which layers are of which kind.
COUNTED = {
    "num_attention_layers": ("attention", "mamba"),
    "num_mla_layers": ("full_attention", "linear_attention"),
    "num_full_attention_layers": ("full_attention", "conv"),
}
TYPES = {
    "ernie-4.5-21b-a3b": "ernie4_5_moe",
    "glm-4.7-flash": "glm4_moe_lite",
    "kimi-linear-48b-a3b": "kimi_linear",
    "qwen3-coder-next": "qwen3_next",
    "qwen3-next-80b-a3b": "qwen3_next",
    "smollm3-3b": "smollm3",
}


def whole(config: Path, folder: Path) -> dict[str, Any]:
    """Read a configuration, with what its reconstruction leaves out."""
    document: dict[str, Any] = json.loads(config.read_text("utf-8"))
    document.setdefault("model_type", TYPES.get(config.stem))
    for counted, (attends, other) in COUNTED.items():
        if attention := document.get(counted):
            rest = document["num_hidden_layers"] - attention
            document["layer_types"] = [attends] * attention + [other] * rest
    # Widths are those of the matrices.
    document.setdefault("block_auto_adjust_ff_dim", False)
    (folder / config.name).write_text(json.dumps(document), "utf-8")
    return document


def test_totals_of_their_sources_are_met(shared: Path, tmp_path: Path) -> None:
    facts, catalog = shared / "catalog-facts", open_catalog()
    with (facts / "params_new.csv").open(encoding="utf-8") as lines:
        totals = {
            row["model"]: int(row["total_params"]) for row in csv.DictReader(lines)
        }
    equal, different, refused = [], {}, {}
    for config in sorted((facts / "hf-configs-2").rglob("*.json")):
        document, name = whole(config, tmp_path), config.stem
        path = str(tmp_path / config.name)
        try:
            model = catalog.model(path)
        except InputError as error:
            inner = document.get("text_config") or document
            refused[name] = inner.get("model_type"), error.diagnostics[0].field
            continue
        read = model_from_table(catalog.architecture(path))
        assert read.parameters == model.parameters, name
        outside = sum(parameters for _, parameters in model.outside)
        counted = model.parameters + model.mtp_parameters + outside
        if name not in totals:
            continue
        if counted == totals[name]:
            equal.append(name)
        else:
            different[name] = totals[name] - counted
    assert different == {name: off for name, (off, _) in DIFFERENT.items()}
    assert len(equal) == 48
    by_type = {of for of, field in refused.values() if field == "model_type"}
    assert by_type == NOT_READ
    others = {name: field for name, (_, field) in refused.items()}
    others = {name: at for name, at in others.items() if at != "model_type"}
    assert others == {
        # Attention over the outcomes of earlier layers, and a width of experts' own.
        "kimi-k3": "attn_res_block_size",
        # These two do not say which layers are of which kind.
        "lfm2-8b-a1b": "layer_types",
        "nemotron-nano-9b-v2": "hybrid_override_pattern",
        # Its layers are of several formats.
        "qwen3.6-27b": "quantization_config",
        "qwen3.6-35b-a3b": "quantization_config",
    }


def test_towers_are_as_large_as_what_their_sources_have_beside_the_text(
    shared: Path,
) -> None:
    """Biases, norms and tables of positions, which some have, are not counted."""
    configs = {
        config.stem: config
        for config in (shared / "catalog-facts" / "hf-configs-2").rglob("*.json")
        if "vision_config" in json.loads(config.read_text("utf-8"))
    }
    known = {name for name, (_, why) in DIFFERENT.items() if why == TOWER}
    off = {}
    for name in sorted(known & configs.keys()):
        seen = planopt.evaluate(
            model=str(configs[name]),
            accelerator="b300",
            tp=8,
            images=1,
            image_size="448x448",
            batch=1,
        )
        found = seen.candidate.encoder_parameters or 0.0
        off[name] = 1 - found / DIFFERENT[name][0]
    left_out = {
        name: next(share for kind, share in OF_A_TOWER if name.startswith(kind))
        for name in off
    }
    assert len(off) > 20
    assert {name: share for name, share in off.items() if share < 0} == {}
    assert {name: share for name, share in off.items() if share > left_out[name]} == {}


@pytest.mark.parametrize("unknown", ["qwen3_nxt", "llamma"])
def test_no_other_architecture_is_proposed(unknown: str, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"model_type": unknown, "hidden_size": 64}), "utf-8")
    with pytest.raises(InputError) as refused:
        open_catalog().model(str(config))
    problem, *missing = refused.value.diagnostics
    assert problem.field == "model_type"
    assert "did you mean" not in str(refused.value)
    assert "qwen3_moe" in (problem.accepted or "")
    assert "num_hidden_layers" in {each.field for each in missing}


PLAIN = {
    "model_type": "brand_new",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "torch_dtype": "bfloat16",
}


def test_a_type_that_is_read_by_its_fields_is_said_to_be(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(PLAIN), "utf-8")
    asked: Any = {"model": str(config), "accelerator": "h100-sxm", "batch": 4}
    found = planopt.evaluate_serving(**asked)
    known = planopt.evaluate_serving(**asked | {"model": "llama-3.1-8b"})
    assert found.decode == known.decode
    (said,) = (each for each in found.assumed if each.name == "architecture")
    assert "unknown type brand_new" in said.value
    assert "unknown type brand_new" in str(found)
    assert "architecture" not in {each.name for each in known.assumed}
    plan = planopt.solve(model=str(config), target="20tok/s", load="steady")
    assert "architecture" in {each.name for each in plan.assumed}
    config.write_text(json.dumps({**PLAIN, "index_topk": 2048}), "utf-8")
    with pytest.raises(InputError) as refused:
        planopt.evaluate_serving(**asked)
    assert "index_topk" in {each.field for each in refused.value.diagnostics}
