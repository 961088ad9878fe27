"""What is launched is what was planned, in words that the tools take."""

from __future__ import annotations

import shlex
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from exchanging import CASES, keys_of, plan_of, unknown, with_pools, words_of
from msgspec.structs import replace

import planopt
from planopt.documents.facts import Fact, Facts
from planopt.errors import InputError
from planopt.exchange.export import export
from planopt.exchange.tool import tool

if TYPE_CHECKING:
    from pathlib import Path

ENGINES = ("vllm", "sglang", "trtllm", "llama-cpp")
REFUSED = {
    ("experts", "llama-cpp"): {"dp", "ep", "kv"},
    ("experts", "trtllm"): {"dp"},
    ("pipeline", "llama-cpp"): {"split"},
    ("one card", "sglang"): {"kv"},
    ("one card", "trtllm"): {"kv"},
}
"""What a tool cannot do, by case: the terms that it names."""


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("case", CASES)
def test_what_is_launched_is_taken_or_refused_by_name(case: str, name: str) -> None:
    plan = plan_of(**CASES[case])
    refused = REFUSED.get((case, name))
    if refused is not None:
        with pytest.raises(InputError) as raised:
            export(plan, name)
        assert {each.field for each in raised.value.diagnostics} == refused
        assert {each.code for each in raised.value.diagnostics} == {"E303"}
        return
    made = export(plan, name)
    assert unknown(name, made.files) == []
    assert made.launched[0].startswith("serve")


@pytest.mark.parametrize("name", ENGINES)
def test_every_word_of_a_table_is_one_of_the_release(name: str) -> None:
    of = tool(name)
    words = {
        *(word for flag in of.flags for word in flag.spellings),
        *of.harmless,
        *of.refused,
    }
    listed = of.listed.flags
    switches = {f"--no-{flag[2:]}" for flag, takes in listed.items() if takes.switch}
    dotted = {word for word in words if word.partition(".")[0] in listed}
    if of.shape == "yaml":
        dotted |= {word for word in words if word[:1] == "-"}  # Flags for its keys.
    assert words - {""} - set(listed) - switches - dotted == set()
    assert (of.version, of.date) == (of.listed.version, of.listed.date)


@pytest.mark.parametrize("name", ENGINES)
def test_two_pools_are_written_beside_the_plan(name: str) -> None:
    plan = with_pools(plan_of(**CASES["dense"]), **{**CASES["dense"], "tp": 8})
    made = export(plan, name)
    if name == "llama-cpp":
        assert [each for each in made.remarks if "two pools" in each]
        assert made.launched == ["serve.sh"]
        return
    assert unknown(name, made.files) == []
    assert {"prefill.sh", "decode.sh"} < set(made.launched)
    roles = {"vllm": "kv_consumer", "sglang": "decode", "trtllm": "DEFAULT"}
    assert any(roles[name] in made.files[file] for file in made.launched[2:])


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    "change", [{"tp": 8}, {"max_model_len": 2048}, {"batch": 2}, {"kv": "fp8"}]
)
def test_a_field_that_changes_changes_the_file(
    name: str, change: dict[str, object]
) -> None:
    if name == "llama-cpp" and "kv" in change:
        change = {"kv": "q8_0"}
    before = export(plan_of(**CASES["dense"], **_kv(name)), name)
    after = export(plan_of(**{**CASES["dense"], **_kv(name), **change}), name)
    assert before.files["serve.sh"] + before.files.get("serve.yaml", "") != (
        after.files["serve.sh"] + after.files.get("serve.yaml", "")
    )


def _kv(name: str) -> dict[str, object]:
    return {"kv": "fp16"} if name == "llama-cpp" else {}


PLANTED = {
    "vllm": (
        ("--max-num-seqs", "--max-seqs", "--max-seqs"),
        ("dtype bfloat16", "dtype bf16", "--kv-cache-dtype bf16"),
    ),
    "sglang": (
        ("--context-length", "--max-model-len", "--max-model-len"),
        ("dtype bfloat16", "dtype fp8", "--kv-cache-dtype fp8"),
    ),
    "trtllm": (
        ("max_seq_len", "max_model_len", "max_model_len"),
        ("max_tokens", "tokens", "kv_cache_config.tokens"),
    ),
    "llama-cpp": (
        ("-sm ", "-split ", "-split"),
        ("-ctk f16", "-ctk fp16", "-ctk fp16"),
    ),
}


@pytest.mark.parametrize("name", ENGINES)
def test_a_planted_flag_or_value_is_found(name: str) -> None:
    made = dict(export(plan_of(**CASES["dense"], **_kv(name)), name).files)
    assert unknown(name, made) == []
    for good, bad, found in PLANTED[name]:
        files = {file: text.replace(good, bad) for file, text in made.items()}
        assert files != made
        assert found in unknown(name, files)


def test_engine_and_plan_agree_on_memory() -> None:
    plan = plan_of(**CASES["experts"])
    memory = plan.deployments[0].evaluation.memory
    tokens = plan.deployments[0].evaluation.kv_capacity_tokens
    assert memory is not None
    assert tokens is not None
    room = memory.capacity_bytes - memory.total_bytes + memory.kv_cache_bytes
    words = words_of(export(plan, "vllm").files["serve.sh"])
    assert words[words.index("--kv-cache-memory-bytes") + 1] == str(int(room))
    words = words_of(export(plan, "sglang").files["serve.sh"])
    assert words[words.index("--max-total-tokens") + 1] == str(int(tokens / 4))
    plan = plan_of(**CASES["dense"])
    tokens = plan.deployments[0].evaluation.kv_capacity_tokens
    assert tokens is not None
    keys = dict(keys_of(yaml.safe_load(export(plan, "trtllm").files["serve.yaml"])))
    assert keys["kv_cache_config.max_tokens"] == int(tokens)


def test_degrees_are_those_of_each_tool() -> None:
    plan = plan_of(**CASES["experts"])  # TP2 of an attention group, four groups.
    vllm = words_of(export(plan, "vllm").files["serve.sh"])
    assert vllm[vllm.index("--tensor-parallel-size") + 1] == "2"
    assert vllm[vllm.index("--data-parallel-size") + 1] == "4"
    assert vllm[vllm.index("--max-num-seqs") + 1] == "16"
    assert "--enable-expert-parallel" in vllm
    sglang = words_of(export(plan, "sglang").files["serve.sh"])
    assert sglang[sglang.index("--tp-size") + 1] == "8"
    assert sglang[sglang.index("--attn-dp-size") + 1] == "4"
    assert sglang[sglang.index("--max-running-requests") + 1] == "64"
    with pytest.raises(InputError, match="all ranks or on none"):
        export(plan, "trtllm")


def test_expert_parallel_of_some_ranks_is_refused_by_vllm() -> None:
    plan = plan_of(**{**CASES["experts"], "ep": 4})
    with pytest.raises(InputError, match="ep is tp x dp") as raised:
        export(plan, "vllm")
    (problem,) = raised.value.diagnostics
    assert (problem.field, problem.value, problem.accepted) == ("ep", "4", "ranks = 8")


def test_a_hostile_name_stays_a_name(tmp_path: Path) -> None:
    plan = plan_of(**CASES["dense"])
    hostile = "x/'; touch owned; $(touch owned) `touch owned`\n touch owned #"
    model = Fact.of({"aliases": [hostile]})
    plan = replace(plan, facts=Facts(entries={"models/llama-3.1-70b": model}))
    for name in ("vllm", "sglang", "trtllm"):
        made = export(plan, name)
        text = made.files["serve.sh"].replace("\\\n", " ")
        assert hostile in shlex.split(text.partition("exec ")[2])
        stub = made.files["serve.sh"].replace("exec ", "exec true ")
        subprocess.run(["sh", "-c", stub], cwd=tmp_path, check=True)
        assert list(tmp_path.iterdir()) == []


def test_a_plan_that_serves_nothing_is_refused() -> None:
    plan = plan_of(**CASES["dense"])
    with pytest.raises(InputError, match="E301"):
        export(replace(plan, deployments=()), "vllm")


def test_an_engine_may_hold_what_the_promise_was_simulated_with() -> None:
    """Requests come unevenly: an engine that holds their mean alone lets them wait."""
    asked: Any = {
        "model": "llama-3.1-8b",
        "host": "pcie-4gpu",
        "engine": "vllm",
        "request_rate": "1/s",
        "load": "open",
    }
    plan = planopt.solve(**asked, accelerators="rtx-4090", target="20tok/s", ttft="5s")
    (own,) = plan.deployments
    words = words_of(export(plan, "vllm").files["serve.sh"])
    most = int(words[words.index("--max-num-seqs") + 1])
    late = {}
    for sequences in (most, own.candidate.batch):
        found = planopt.evaluate_serving(
            **asked, accelerator="rtx-4090", max_sequences=sequences
        )
        late[sequences] = found.ttft_seconds.p95 or 0.0
    assert late[most] < 5.0 < late[own.candidate.batch]
    # Slots of a cache take no more of it than there is.
    words = words_of(export(plan, "llama-cpp").files["serve.sh"])
    context = int(words[words.index("-c") + 1])
    assert context <= (own.evaluation.kv_capacity_tokens or 0)
    assert int(words[words.index("-np") + 1]) == own.candidate.batch
