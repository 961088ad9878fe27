"""Runs of training go out and come back as they are, or are refused by name."""

from __future__ import annotations

import json
import math
import re
import shlex
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from exchanging import facts_of

import planopt
from planopt.documents.plan import Request, TrainingPlan
from planopt.documents.training import TrainingDeployment
from planopt.errors import InputError
from planopt.exchange.export import export
from planopt.exchange.imports import read_command
from planopt.exchange.tool import tool
from planopt.report.exchange import render_import

if TYPE_CHECKING:
    from pathlib import Path

TRAINERS = ("megatron", "torchtitan", "deepspeed")
ON: dict[str, object] = {
    "accelerator": "h100-sxm",
    "network": "infiniband-400g",
    "global_batch": 256,
    "seq_len": 4096,
    "tokens": 256 * 4096 * 1000,
}
CASES: dict[str, dict[str, object]] = {
    "dense": {"model": "llama-3.1-70b", "tp": 8, "dp": 8, "sequence_parallel": True},
    "pipeline": {
        "model": "llama-3.1-70b",
        "tp": 4,
        "pp": 4,
        "vpp": 5,
        "dp": 4,
        "sequence_parallel": True,
        "schedule": "interleaved",
    },
    "experts": {"model": "qwen3-30b-a3b", "dp": 16, "ep": 8},
    "context": {
        "model": "llama-3.1-8b",
        "tp": 2,
        "cp": 2,
        "dp": 4,
        "sequence_parallel": True,
        "recompute": "full",
    },
}
OF_MEGATRON: dict[str, dict[str, object]] = {
    "dense": {"zero": "1", "recompute": "layers:3"},
    "pipeline": {"zero": "1", "recompute": "selective"},
    "experts": {"zero": "3"},
    "context": {"zero": "0", "precision": "fp8"},
}
OF_TORCHTITAN: dict[str, dict[str, object]] = {
    "dense": {"zero": "3", "recompute": "selective"},
    "pipeline": {"zero": "2"},
    "experts": {"zero": "3", "shard_group": 8},
    "context": {"zero": "3"},
}
RUNS = [
    (name, case, {**ON, **CASES[case], **own, "framework": framework})
    for name, framework, owns in (
        ("megatron", "megatron", OF_MEGATRON),
        ("torchtitan", "fsdp", OF_TORCHTITAN),
    )
    for case, own in owns.items()
]


def plan_of(options: dict[str, object]) -> TrainingPlan:
    found = planopt.evaluate_training(**options)  # type: ignore[arg-type]
    return TrainingPlan(
        status="feasible",
        request=Request(model=found.model, tokens=float(str(options["tokens"]))),
        deployments=(
            TrainingDeployment(
                model=found.model,
                candidate=found.candidate,
                hardware=found.hardware,
                evaluation=found,
            ),
        ),
        facts=facts_of(options),
    )


def words_of(text: str) -> list[str]:
    line = text.replace("\\\n", " ").splitlines()[-1]
    return shlex.split(line.partition("exec torchrun")[2])


@pytest.mark.parametrize(("name", "case", "options"), RUNS)
def test_what_was_exported_is_imported_as_it_was(
    name: str, case: str, options: dict[str, object], tmp_path: Path
) -> None:
    made = export(plan_of(options), name)
    assert made.launched == ["train.sh"]
    script = tmp_path / "train.sh"
    script.write_text(made.files["train.sh"], "utf-8")
    beside = {key: options[key] for key in ("accelerator", "network")}
    found = read_command(str(script), tool=name, **beside).training
    expected = planopt.evaluate_training(**options)  # type: ignore[arg-type]
    assert found is not None
    assert found.candidate == expected.candidate, case
    assert found.memory == expected.memory
    assert found.step == expected.step
    assert found.days == expected.days


@pytest.mark.parametrize(("name", "case", "options"), RUNS)
def test_every_flag_is_one_of_the_release(
    name: str, case: str, options: dict[str, object]
) -> None:
    words = words_of(export(plan_of(options), name).files["train.sh"])
    listed = tool(name).listed.flags
    flags = [word for word in words if word.startswith("--")]
    assert len(flags) > 10, case
    assert [flag for flag in flags if flag not in listed] == []
    for flag, value in pairwise(words):
        if flag in listed and (choices := listed[flag].choices):
            assert value in choices


@pytest.mark.parametrize("name", TRAINERS)
def test_every_word_of_a_table_is_one_of_the_release(name: str) -> None:
    of = tool(name)
    spelled = (word for flag in of.flags for word in flag.spellings)
    words = {*spelled, *of.harmless, *of.refused} - {""}
    assert words - set(of.listed.flags) == set()


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("megatron", {"pp": 3, "dp": 1, "tp": 8}, "uneven"),
        ("megatron", {"schedule": "zb-h1", "pp": 4, "dp": 2}, "odd_schedule"),
        ("megatron", {"optimizer": "adam8bit"}, "optimizer"),
        ("torchtitan", {"zero": "1"}, "reshard"),
        ("torchtitan", {"zero": "3", "precision": "fp8"}, "precision"),
        ("torchtitan", {"zero": "3", "model": "llama-2-70b"}, "id"),
        (
            "torchtitan",
            {"zero": "3", "sequence_parallel": False},
            "no_sequence_parallel",
        ),
    ],
)
def test_what_a_trainer_cannot_do_is_refused_by_name(
    name: str, change: dict[str, object], field: str
) -> None:
    options = {**ON, **CASES["dense"], **change}
    options["global_batch"] = 240 if change.get("pp") == 3 else 256
    with pytest.raises(InputError) as raised:
        export(plan_of(options), name)
    assert {each.code for each in raised.value.diagnostics} == {"E303"}
    assert field in {each.field for each in raised.value.diagnostics}


def test_a_model_is_known_by_its_sizes() -> None:
    line = (
        "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 "
        "--hidden-size 4096 "
        "--ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention "
        "--num-query-groups 8 --swiglu --micro-batch-size 1 --global-batch-size 64 "
        "--seq-length 4096 --bf16 --tensor-model-parallel-size 2 --lr 1e-4"
    )
    found = read_command(line, tool="megatron", accelerator="h100-sxm")
    assert found.model in ("llama-3.1-8b", "llama-3-8b")
    assert found.options["dp"] == "4"
    with pytest.raises(InputError, match="hidden is another one"):
        read_command(line, tool="megatron", model="llama-3.1-70b")
    with pytest.raises(InputError, match="no multiple"):
        read_command(line.replace("size 2 --lr", "size 3 --lr"), tool="megatron")
    with pytest.raises(InputError, match="--rampup-batch-size"):
        read_command(f"{line} --rampup-batch-size 8 8 1000", tool="megatron")


def test_the_json_of_deepspeed(tmp_path: Path) -> None:
    said: dict[str, object] = {
        "train_batch_size": 64,
        "train_micro_batch_size_per_gpu": 1,
        "gradient_accumulation_steps": 8,
        "bf16": {"enabled": True},
        "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}},
        "zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}},
    }
    path = tmp_path / "ds.json"
    path.write_text(json.dumps(said), "utf-8")
    beside = {"tool": "deepspeed", "model": "llama-3.1-8b", "accelerator": "h100-sxm"}
    found = read_command(str(path), **beside)
    assert [found.options[key] for key in ("dp", "zero", "offload")] == [
        "8",
        "3",
        "optimizer",
    ]
    assert found.fits
    said["zero_optimization"] = {"stage": 3, "offload_param": {"device": "nvme"}}
    path.write_text(json.dumps(said), "utf-8")
    with pytest.raises(InputError, match="keeps weights on accelerators"):
        read_command(str(path), **beside)


def test_other_accelerators_and_all_of_them() -> None:
    line = (
        "torchrun --nproc-per-node 8 -m torchtitan.train --module llama3 "
        "--config llama3_8b --training.local_batch_size 1 "
        "--training.global_batch_size 8"
    )
    found = read_command(line, tool="torchtitan")
    fits = {each.accelerator: each.fits for each in found.elsewhere}
    assert fits["h100-sxm"]
    assert not fits["rtx-4090"]
    assert found.options["zero"] == "3"


def test_a_faster_layout_of_the_same_accelerators_is_told() -> None:
    line = (
        "torchrun --nproc-per-node 8 --nnodes 4 -m torchtitan.train --module llama3 "
        "--config llama3_8b --training.local_batch_size 16 "
        "--training.global_batch_size 64 --training.seq_len 4096 "
        "--training.disable_cuda_graphs activation-checkpoint:full "
    )
    on = {"accelerator": "h100-sxm", "network": "infiniband-400g"}
    slow = f"{line} --parallelism.tensor_parallel_degree 8 "
    slow += "--parallelism.pipeline_parallel_degree 4"
    found = read_command(slow, tool="torchtitan", **on)
    assert found.training is not None
    assert found.training.feasible
    assert found.better is not None
    speed = found.better.tokens_per_second
    assert speed is not None
    assert speed > 1.02 * (found.training.tokens_per_second or 0.0)
    assert "better on the same accelerators" in str(render_import(found))
    # None is better than the one that is told.
    degrees = dict(re.findall(r"([A-Z]+)(\d+)", found.better.layout))
    own = {name: int(degrees.get(name.upper(), 1)) for name in ("tp", "pp", "dp", "cp")}
    assert math.prod(own.values()) <= 32


CHANGES = ({"tp": 4}, {"seq_len": 2048}, {"global_batch": 128}, {"recompute": "full"})


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["megatron", "torchtitan"])
def test_a_field_that_changes_changes_the_script(
    name: str, change: dict[str, object]
) -> None:
    own = {"megatron": OF_MEGATRON, "torchtitan": OF_TORCHTITAN}[name]["dense"]
    options = {**ON, **CASES["dense"], **own}
    before, after = (
        export(plan_of(asked), name).files["train.sh"].partition("exec ")[2]
        for asked in (options, {**options, **change})
    )
    assert before != after


@pytest.mark.parametrize("name", ["megatron", "torchtitan"])
def test_a_planted_flag_is_found(name: str) -> None:
    own = {"megatron": OF_MEGATRON, "torchtitan": OF_TORCHTITAN}[name]["dense"]
    made = export(plan_of({**ON, **CASES["dense"], **own}), name).files["train.sh"]
    listed = tool(name).listed.flags
    degree = {
        "megatron": "--tensor-model-parallel-size",
        "torchtitan": "--parallelism.tensor_parallel_degree",
    }[name]
    planted = words_of(made.replace(degree, f"{degree}s"))
    flags = [word for word in planted if word.startswith("--")]
    assert [flag for flag in flags if flag not in listed] == [f"{degree}s"]
