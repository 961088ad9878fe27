"""What people run is understood flag by flag, or refused by name."""

from __future__ import annotations

import csv
import os
from collections import Counter
from pathlib import Path

import pytest
from exchanging import CASES, evaluated, plan_of

from planopt.cli import main
from planopt.errors import Diagnostic, InputError
from planopt.exchange.export import export
from planopt.exchange.imports import read_command

ENGINES = ("vllm", "sglang", "trtllm", "llama-cpp")
DEGREES = ("tp", "dp_attention", "ep")
CASES_OF = {
    "vllm": ("dense", "experts", "pipeline", "one card"),
    "sglang": ("dense", "experts", "pipeline"),
    "trtllm": ("dense", "pipeline"),
    "llama-cpp": ("dense", "one card"),
}


@pytest.mark.parametrize(
    ("name", "case"),
    [(name, case) for name, cases in CASES_OF.items() for case in cases],
)
def test_what_was_exported_is_imported_as_it_was(
    name: str, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {**CASES[case], "engine": name}
    made = export(plan_of(**options), name)
    for file in made.launched:
        (tmp_path / file).write_text(made.files[file], "utf-8")
    monkeypatch.chdir(tmp_path)
    beside = {}
    if name == "llama-cpp":  # A name of a file is no name of a model.
        beside["model"] = options["model"]
    found = read_command(
        "serve.sh", tool=name, accelerator=options["accelerator"], **beside
    ).serving
    expected = evaluated(**options)
    assert found is not None
    assert found.memory == expected.memory
    assert found.decode == expected.decode
    assert found.prefill == expected.prefill
    assert found.candidate == expected.candidate


def problems_of(command: str, tool: str) -> tuple[Diagnostic, ...]:
    try:
        read_command(command, tool=tool, model="qwen3-32b", accelerators="a40")
    except InputError as error:
        return error.diagnostics
    return ()


@pytest.mark.shared
def test_commands_that_people_published() -> None:
    folder = os.environ.get("PLANOPT_SHARED")
    if folder is None:
        pytest.skip("PLANOPT_SHARED does not say where the published commands are")
    outcomes: Counter[tuple[str, str]] = Counter()
    refused: set[tuple[str, str | None]] = set()
    with (Path(folder) / "validation" / "launch-commands.csv").open(
        encoding="utf-8"
    ) as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        engine = row["framework"]
        tool = {"vLLM": "vllm", "llama.cpp": "llama-cpp"}.get(engine, "vllm")
        problems = problems_of(row["launch_command"], tool)
        assert {each.code for each in problems} <= {"E304"}
        assert all(each.field or each.value for each in problems)
        outcomes[engine, "refused" if problems else "understood"] += 1
        refused |= {(engine, each.field) for each in problems}
    assert outcomes == {
        ("vLLM", "understood"): 43,
        ("vLLM", "refused"): 2,
        ("llama.cpp", "understood"): 15,
        ("llama.cpp", "refused"): 7,
        ("exllamav3", "refused"): 24,
    }
    assert refused == {
        ("vLLM", "--quantization"),  # gguf
        ("vLLM", None),  # A word of no flag
        ("llama.cpp", "-p"),  # Of llama-bench
        ("llama.cpp", "-r"),
        ("llama.cpp", "-o"),
        ("llama.cpp", None),  # Prose
        ("exllamav3", "--from"),
    }


SCRIPT = """\
#!/usr/bin/env bash
set -euo pipefail
MODEL=${MODEL:-meta-llama/Llama-3.1-8B}   # the small one
export CUDA_VISIBLE_DEVICES=0,1
exec vllm serve "$MODEL" \\
  -tp=2 --max_model_len 8k \\
  --max-num-seqs 4 --kv-cache-dtype fp8 --no-enable-prefix-caching > log.txt 2>&1
"""


def test_a_script_is_read_as_a_shell_reads_it() -> None:
    found = read_command(SCRIPT, tool="vllm", accelerator="h100-sxm")
    assert found.options == {
        "model": "meta-llama/Llama-3.1-8B",
        "tp": "2",
        "kv": "fp8",
        "engine": "vllm",
        "accelerator": "h100-sxm",
        "max_model_len": "8000",
    }
    assert found.environment["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert found.sequences == 4
    assert found.serving is not None
    assert found.serving.candidate.batch == 4
    assert [each.flag for each in found.flags if each.term is None] == [
        "--no-enable-prefix-caching"
    ]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("x.yaml", "model: llama-3.1-8b\ntensor-parallel-size: 2\nmax_num_seqs: 4\n"),
        (
            "x.json",
            '{"model": "llama-3.1-8b", "tensor_parallel_size": 2, "max-num-seqs": 4}',
        ),
        (
            "x.toml",
            'model = "llama-3.1-8b"\ntensor-parallel-size = 2\nmax-num-seqs = 4\n',
        ),
    ],
)
def test_a_file_says_what_a_command_line_says(
    file: str, text: str, tmp_path: Path
) -> None:
    path = tmp_path / file
    path.write_text(text, "utf-8")
    line = "vllm serve llama-3.1-8b -tp 2 --max-num-seqs 4"
    found = read_command(
        str(path), tool="vllm", accelerator="h100-sxm", max_model_len=4096
    )
    other = read_command(line, tool="vllm", accelerator="h100-sxm", max_model_len=4096)
    assert found.serving == other.serving
    assert found.options == other.options


@pytest.mark.parametrize(
    ("name", "flags", "field"),
    [
        ("vllm", "--swap-space 4", "--swap-space"),  # Gone
        ("vllm", "--cpu-offload-gb 10", "--cpu-offload-gb"),
        ("vllm", "--kv-cache-dtype turboquant_k8v4", "--kv-cache-dtype"),
        ("vllm", "--mm-encoder-tp-mode data", "--mm-encoder-tp-mode"),  # Not known
        (
            "vllm",
            '--speculative-config \'{"method": "eagle"}\'',
            "--speculative-config.method",
        ),
        ("vllm", "--max-num-seqs", "--max-num-seqs"),  # No value
        ("sglang", "--cuda-graph-max-bs 8", "--cuda-graph-max-bs"),  # Gone
        ("sglang", "--moe-dp-size 2", "--moe-dp-size"),
        ("llama-cpp", "-nkvo", "-nkvo"),
        ("llama-cpp", "-sm tensor", "-sm"),
    ],
)
def test_a_flag_without_a_word_is_refused_by_name(
    name: str, flags: str, field: str
) -> None:
    start = {
        "vllm": "vllm serve llama-3.1-8b",
        "sglang": "python -m sglang.launch_server --model llama-3.1-8b",
        "llama-cpp": "llama-server -m llama-3.1-8b-Q8_0.gguf",
    }
    assert read_command(start[name], tool=name, accelerator="h100-sxm").fits
    with pytest.raises(InputError) as raised:
        read_command(f"{start[name]} {flags}", tool=name, accelerator="h100-sxm")
    (problem,) = raised.value.diagnostics
    assert (problem.code, problem.field) == ("E304", field)


def test_all_that_is_wrong_is_told_at_once() -> None:
    line = "vllm serve llama-3.1-8b --swap-space 4 --cpu-offload-gb 1 --enforce-eagerly"
    with pytest.raises(InputError) as raised:
        read_command(line, tool="vllm")
    assert len(raised.value.diagnostics) == 3
    assert "did you mean `--enforce-eager`?" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "less"),
    [
        ("vllm", "--gpu-memory-utilization 0.5"),
        ("vllm", "--kv-cache-memory-bytes 4G"),
        ("sglang", "--mem-fraction-static 0.5"),
        ("sglang", "--max-total-tokens 32768"),
        ("trtllm", "--kv_cache_free_gpu_memory_fraction 0.3"),
    ],
)
def test_a_smaller_share_of_memory_holds_fewer_sequences(name: str, less: str) -> None:
    start = {
        "vllm": "vllm serve llama-3.1-8b --max-model-len 8192 --max-num-seqs 256",
        "sglang": "python -m sglang.launch_server --model llama-3.1-8b "
        "--context-length 8192 --max-running-requests 256",
        "trtllm": "trtllm-serve llama-3.1-8b --max_seq_len 8192 --max_batch_size 256",
    }
    usual = read_command(start[name], tool=name, accelerator="h100-sxm")
    found = read_command(f"{start[name]} {less}", tool=name, accelerator="h100-sxm")
    assert usual.sequences is not None
    assert found.sequences is not None
    assert 0 < found.sequences < usual.sequences < 256


def test_what_no_share_holds_does_not_fit() -> None:
    line = "vllm serve llama-3.1-8b --kv-cache-memory-bytes 1M --max-model-len 8192"
    found = read_command(line, tool="vllm", accelerator="h100-sxm")
    assert found.fits is False
    assert found.serving is not None
    assert "of what the command gives" in found.serving.rejections[0].message


def test_without_hardware_it_says_on_what_it_fits() -> None:
    line = "vllm serve llama-3.1-70b -tp 2 --max-model-len 4096 --max-num-seqs 8"
    found = read_command(line, tool="vllm")
    assert found.fits is None
    fits = {each.accelerator: each for each in found.elsewhere}
    assert fits["h200-sxm"].fits
    assert fits["h200-sxm"].sequences == 8
    assert not fits["rtx-4090"].fits
    assert "GB" in (fits["rtx-4090"].why_not or "")


def test_a_better_layout_of_the_same_accelerators_is_told() -> None:
    line = "vllm serve llama-3.1-8b -pp 4 --max-model-len 4096 --max-num-seqs 8"
    found = read_command(line, tool="vllm", accelerator="h100-sxm")
    assert found.serving is not None
    speed = found.serving.decode.tokens_per_second
    assert found.better is not None
    assert found.better.tokens_per_second is not None
    assert speed is not None
    assert found.better.tokens_per_second > speed


def test_copies_of_a_dense_model_are_replicas() -> None:
    line = "vllm serve llama-3.1-8b -dp 4"
    found = read_command(line, tool="vllm", accelerator="h100-sxm")
    assert (found.options["replicas"], found.options.get("dp_attention")) == ("4", None)
    line = "vllm serve qwen3-30b-a3b -tp 2 -dp 2 -ep"
    found = read_command(line, tool="vllm", accelerator="h100-sxm")
    assert [found.options[name] for name in DEGREES] == ["2", "2", "4"]
    line = (
        "python -m sglang.launch_server --model qwen3-30b-a3b --tp 4 --ep-size 4 --dp 2"
    )
    found = read_command(
        f"{line} --enable-dp-attention", tool="sglang", accelerator="h100-sxm"
    )
    assert [found.options[name] for name in DEGREES] == ["2", "2", "4"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("vllm serve llama-3.1-8b", 0),
        ("vllm serve llama-3.1-405b", 1),
        ("vllm serve llama-3.1-8b --swap-space 4", 2),
        ("python exl3_bench.py --model x", 2),
        ("vllm serve 'llama", 2),
        ("vllm serve llama-3.1-8b -tp two", 2),
        ("vllm serve llama-3.1-8b -tp 1.5", 2),
        ("vllm serve llama-3.1-8b -tp 0", 2),
        ("vllm serve", 2),
        ("", 2),
    ],
)
def test_the_command_leaves_with_its_code(
    line: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["import", "--from", "vllm", line, "--accelerator", "h100-sxm"])
    assert left.value.code == code
    shown = capsys.readouterr()
    assert ("error[E" in shown.err) == (code == 2)
    assert "E901" not in shown.err
    if code < 2:
        assert "as flags of vllm 0.33.0 say it" in shown.out
