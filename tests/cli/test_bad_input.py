"""Wrong input of every kind: a code, a place, what would be accepted, exit code 2.

Never a traceback, a panic or a word on stdout.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planopt.catalog.open import bundled_folder
from planopt.cli import main

if TYPE_CHECKING:
    from pathlib import Path

# Options with a value that cannot be, and a word of what is said about it.
WRONG_OPTIONS = [
    ("--model lama-2-70b", "llama-2-70b"),
    ("--model=", "no model"),
    ("--model /tmp", "config.json"),
    ("--accelerators rtx-409", "rtx-4090"),
    ("--accelerators ,", "names nothing"),
    ("--exclude rtx-409", "rtx-4090"),
    ("--host dektop", "desktop"),
    ("--network ethernet-10", "ethernet-10g"),
    ("--workload chatt", "chat"),
    ("--workload=", "no workload"),
    ("--assumptions calibratd", "calibrated"),
    ("--assumptions absent.toml", "cannot be read"),
    ("--catalog absent", "accelerators/"),
    ("--target 5GB", "tok/s"),
    ("--target -5tok/s", "negative"),
    ("--target nan", "finite"),
    ("--target 30ms", "30ms/tok"),
    ("--target 0s/tok", "finite"),
    ("--target inf", "finite"),
    ("--target=", "no value"),
    ("--target 0", "at least"),
    ("--target 1e400tok/s", "finite"),
    ("--target 1e13tok/s", "at most"),
    ("--budget -1", "negative"),
    ("--budget nan", "finite"),
    ("--budget 20km", "money"),
    ("--budget $", "number"),
    ("--budget 1e300", "at most"),
    ("--budget 12/h", "renting"),
    ("--ttft 5tok", "300ms"),
    ("--request-rate 1/x", "3/s"),
    ("--throughput 1e300", "at most"),
    ("--batch 0", "whole number"),
    ("--batch 1.5", "whole number"),
    ("--batch 1e400", "whole number"),
    ("--in-flight 0", "whole number"),
    ("--concurrency 0", "whole number"),
    ("--concurrency 99999999999999999999", "whole number"),
    ("--max-model-len nan", "whole number"),
    ("--osl -3", "whole number"),
    ("--top 0", "whole number"),
    ("--redundancy -1", "whole number"),
    ("--redundancy chassis:1", "device, host, switch, rack"),
    ("--max-accelerators 0", "whole number"),
    ("--kv-heads 7", "divisor"),
    ("--weights fp17", "fp16"),
    ("--kv fp17", "fp16"),
    ("--allow-quantization fp17", "fp16"),
    ("--overlap three", "two-batch"),
    ("--objective cheap", "cheapest"),
    ("--procurement steal", "rent"),
    ("--pcie-all-reduce bad", "good"),
    ("--max-power 10kg", "W"),
    ("--max-racks 0", "at least 0.01 "),
    ("--time-limit 5GB", "300ms"),
    ("--time-limit 0s", "at least"),
    ("--target 1e-308tok/s", "1e-06 to 1e+12 tok/s"),
    ("--throughput 1e-308tok/s", "1e-06 to 1e+12 tok/s"),
    ("--request-rate 1e-300/s", "1e-06 to 1e+12/s"),
    ("--ttft 1e-308s", "1e-06 to 1e+12 s"),
    ("--budget 1e-308", "1e-06 to 1e+12 dollars"),
    ("--max-power 1e-308W", "1e-06 to 1e+12 W"),
    ("--price-band 1e-308", "1e-06 to 0.9"),
    ("--years 1e-308", "0.01 to 100"),
    ("--years 1e308", "0.01 to 100"),
    ("--duty 1e-308", "0.0001 to 1"),
    ("--electricity $1e-308/kWh", "1e-06 to 1000 dollars per kWh"),
    ("--pue 1e-308", "1 to 10"),
    ("--pue 0.9", "1 to 10"),
    ("--carbon 1e-308", "1e-06 to 10"),
    ("--memory-limit 5s", "GB"),
    ("--stock rtx-4090", "ID=N"),
    ("--stock rtx-4090=x", "whole number"),
    ("--stock rtx-409=3", "rtx-4090"),
]

CONTRADICTIONS = [
    ("--redundancy switch:1 --procurement rent", "provider"),
    ("--redundancy rack:1 --assumptions article", "blocks"),
    ("--redundancy rack:1 --max-racks 2", "racks"),
    ("--accelerators rtx-4090 --exclude rtx-4090", "--exclude"),
    ("--request-rate 3/s --throughput 5tok/s", "one of the two"),
    ("--isl 1000 --max-model-len 10", "--max-model-len"),
    ("--objective throughput", "--budget"),
    ("--budget $3/h --procurement buy", "purchase money"),
]

WRONG_EVALUATIONS = [
    ("", "--accelerator"),
    ("--accelerator rtx-409", "rtx-4090"),
    ("--accelerator rtx-4090 --tp 0", "whole number"),
    ("--accelerator rtx-4090 --tp 65536 --pp 65536", "at most 1048576"),
    ("--accelerator rtx-4090 --tp 64 --pp 80 --replicas 65536", "at most 1048576"),
    ("--accelerator rtx-4090 --tp 3000000", "65536"),
    ("--accelerator rtx-4090 --batch 0", "whole number"),
    ("--accelerator rtx-4090 --host dektop", "desktop"),
    ("--accelerator rtx-4090 --link pcie4-x15", "pcie4-x1"),
    ("--accelerator rtx-4090 --link lat-nic", "bandwidth"),
    ("--accelerator rtx-4090 --network ethernet-10", "ethernet-10g"),
    ("--accelerator rtx-4090 --hosts 3", "divisor"),
    ("--accelerator rtx-4090 --request-rate 3/s --arrival-cv 1e-308", "0.01 to 100"),
    ("--accelerator rtx-4090 --request-rate 3/s --arrival-cv 1e12", "0.01 to 100"),
]

WRONG_COMMANDS = [
    ("slove", "solve"),
    ("solve extra", "extra"),
    ("solve --bugdet 3", "--budget"),
    ("solve --gpu-type h100-sxm", "--accelerators"),
    ("evaluate serving --gpu-type h100-sxm", "--accelerator`"),
    ("solve --promt 3000", "--isl"),
    ("solve --itl 30ms", "--target"),
    ("solve --tpot 30 --budget 20000", "--target 30/tok"),
    ("solve --target", "argument"),
    ("compare", "--accelerators"),
    ("compare --accelerators rtx-4090,rtx-409", "rtx-4090"),
    ("catalog list zebras", "accelerators"),
    ("catalog show rtx-409", "rtx-4090"),
    ("catalog show models lama-2-70b", "llama-2-70b"),
    ("train --tokens 2T --deadline 9d --accelerators l40s:x,l4:8", "whole number"),
    ("verify absent.json", "cannot read"),
    ("verify", "plan"),
    ("explain E999", "planopt explain"),
    ("reproduce --topic weather", "inference"),
]

LLAMA = (
    '{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,\n'
    ' "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 32000}'
)

# A config.json, where its fault is (none: the file as a whole), and a word on it.
WRONG_CONFIGS: dict[str, tuple[bytes, str, str]] = {
    "not a transformer": (b'{"model_type": "resnet"}', ":1:", "llama"),
    "broken": (b'{"model_type": "llama",\n "hidden_size": ', ":2:", "not JSON"),
    "empty": (b"", ":1:1", "not JSON"),
    "a list": (b"[1, 2]", "", "object"),
    "too deep": (b"[" * 100_000, ":1:", "not JSON"),
    "nan": (b'{"model_type": "llama", "hidden_size": NaN}', ":1:", "not JSON"),
    "not utf-8": (b'{"model_type": "ll\xe4ma"}', "", "UTF-8"),
    "a field missing": (
        LLAMA.replace('"intermediate_size": 11008, ', "").encode(),
        "",
        "intermediate_size",
    ),
    "negative": (LLAMA.replace("4096", "-4096").encode(), ":1:", "hidden_size"),
    "no layers": (LLAMA.replace("32,\n", "0,\n").encode(), ":1:", "num_hidden_layers"),
    "huge": (LLAMA.replace("11008", "9" * 30).encode(), ":2:", "intermediate_size"),
    "text for a number": (LLAMA.replace("4096", '"big"').encode(), ":1:", "hidden_"),
}

ACCELERATOR = (bundled_folder() / "accelerators" / "rtx-4090.toml").read_text("utf-8")


def _changed(pattern: str, replacement: str) -> str:
    changed, times = re.subn(pattern, replacement, ACCELERATOR, count=1, flags=re.M)
    assert times == 1, pattern
    return changed


# An overlay's accelerator, and a word of what is wrong with it.
WRONG_ENTRIES: dict[str, tuple[str, str]] = {
    "syntax": ('name = "x', "not TOML"),
    "empty": ("", "missing"),
    "wrong unit": (_changed('"24 GiB"', '"24 GB/s"'), "memory"),
    "no unit": (_changed('"24 GiB"', "24"), "memory"),
    "negative price": (_changed(r'"\$1800"', '"-$1800"'), "price"),
    "nan": (_changed('"24 GiB"', "nan"), "memory"),
    "infinite": (_changed('"24 GiB"', '"inf GB"'), "memory"),
    "nothing": (_changed('"24 GiB"', '"0 GB"'), "memory"),
    "huge": (_changed(r'"\$1800"', '"$1e300"'), "price"),
    "field missing": (_changed("^memory = .*\n", ""), "memory"),
    "field unknown": (f"wheels = 4\n{ACCELERATOR}", "wheels"),
    "field twice": (f"vendor = 'x'\n{ACCELERATOR}", "not TOML"),
    "source unknown": (_changed('source = "price"', 'source = "hearsay"'), "hearsay"),
}


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert isinstance(left.value.code, int)
    return left.value.code


def refused(capsys: pytest.CaptureFixture[str], word: str, *arguments: str) -> str:
    """Run a command that must be refused, and return what it says on stderr."""
    assert run(*arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert re.match(r"error\[E\d{3}\]: ", said.err)
    assert word in said.err
    assert "Traceback" not in said.err
    assert "panicked" not in said.err
    return said.err


@pytest.mark.parametrize(("options", "word"), [*WRONG_OPTIONS, *CONTRADICTIONS])
def test_options_that_cannot_be(
    options: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, word, "solve", *options.split())

    named = {text.partition("=")[0] for text in options.split() if text[:2] == "--"}
    missing = {"--objective": "--budget"}  # what an aim needs besides
    places = {*named, *(missing[name] for name in named & set(missing)), "absent.toml"}
    assert any(f"--> {place}" in said for place in places)


@pytest.mark.parametrize(("options", "word"), WRONG_EVALUATIONS)
def test_configurations_that_cannot_be(
    options: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(capsys, word, "evaluate", "serving", *options.split())


@pytest.mark.parametrize(("command", "word"), WRONG_COMMANDS)
def test_commands_that_cannot_be(
    command: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refused(capsys, word, *command.split())


def test_everything_wrong_is_told_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(
        capsys, "--target", "solve", "--target", "x", "--budget", "-1", "--batch", "0"
    )

    assert [said.count(f"--> {name} ") for name in ("--target", "--budget")] == [1, 1]
    assert said.count("error[") == 3


@pytest.mark.parametrize("name", WRONG_CONFIGS)
def test_a_config_that_is_no_model(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, place, word = WRONG_CONFIGS[name]
    file = tmp_path / "config.json"
    file.write_bytes(content)

    said = refused(capsys, word, "solve", "--model", str(file))

    assert f"--> {file}{place}" in said


def test_a_folder_in_place_of_a_config(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "config.json"
    folder.mkdir()

    refused(capsys, str(folder), "solve", "--model", str(folder))


@pytest.mark.parametrize("name", WRONG_ENTRIES)
@pytest.mark.parametrize("command", ["solve", "catalog check"])
def test_an_overlay_that_is_wrong(
    name: str, command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, word = WRONG_ENTRIES[name]
    file = tmp_path / "accelerators" / "rtx-4090.toml"
    file.parent.mkdir()
    file.write_text(content, "utf-8")

    said = refused(capsys, word, *command.split(), "--catalog", str(tmp_path))

    assert re.search(rf"--> {re.escape(str(file))}:\d+:\d+\n", said)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file"
)
def test_a_file_that_may_not_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config.json"
    file.write_text(LLAMA, "utf-8")
    file.chmod(0)

    refused(capsys, "permission", "solve", "--model", str(file))


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"status": "opt', b"\xe4", b"[" * 100_000]
)
def test_a_plan_that_is_none(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.json"
    file.write_bytes(content)

    said = refused(capsys, "planopt.plan/2", "verify", str(file))

    assert f"--> {file}" in said


@pytest.mark.parametrize(
    "arguments",
    [
        ["solve", "--target", "5GB", "--json"],
        ["evaluate", "serving", "--accelerator", "rtx-4090", "--tp", "4294967296"],
        ["solve", "--out", "absent/plan.json", "--budget", "20000"],
    ],
)
def test_as_a_process(arguments: list[str], tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "planopt.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("error[E")


# Commands with arguments that are not text, and the options that they are values of.
NOT_TEXT = [
    ("solve --model \udcff", ["--model"]),
    ("solve --model=\udcff.json --json", ["--model"]),
    ("solve --target \udcff --catalog a\udcffb", ["--target", "--catalog"]),
    ("solve --catalog a\udc80", ["--catalog"]),
    ("solve --out \udcff --budget 20000", ["--out"]),
    ("solve --\udcff=3", []),
    ("train --tokens \udcff", ["--tokens"]),
    ("fleet \udcff.toml", []),
    ("evaluate serving --accelerator \udcff", ["--accelerator"]),
    ("evaluate training --accelerator rtx-4090 --host \udcff", ["--host"]),
    ("compare --accelerators rtx-4090,\udcff", ["--accelerators"]),
    ("catalog show \udcff", []),
    ("catalog import-hf \udcff", []),
    ("verify \udcff", []),
    ("diff \udcff \udcff", []),
    ("frontier --space \udcff", ["--space"]),
    ("sweep \udcff --out \udcff", ["--out"]),
    ("validate --data \udcff", ["--data"]),
    ("reproduce --topic \udcff", ["--topic"]),
    ("calibrate --out \udcff", ["--out"]),
    ("bench --space \udcff", ["--space"]),
    ("explain \udcff", []),
    ("\udcff", []),
    ("verify a\0b", []),
    ("frontier --space a\0b", ["--space"]),
]


@pytest.mark.parametrize(("command", "options"), NOT_TEXT)
def test_arguments_that_are_not_text(
    command: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, "is not text", *command.split())

    wrong = [each for each in command.split() if not each.isprintable()]
    assert said.count("error[E002]") == len(wrong)
    assert all(f"--> {option} " in said for option in options)


@pytest.mark.skipif(os.name == "nt", reason="its arguments are UTF-16")
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_bytes_that_are_not_text_as_a_process(options: list[str]) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "planopt.cli", "solve", "--model", b"\xff", *options],
        capture_output=True,
        check=False,
    )

    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.startswith(b"error[E002]")


# --- Anything at all ------------------------------------------------------------------

_NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.floats().map(repr),
    st.sampled_from(["0", "1", "1e308", "-0", "1_000", "٣", "0x10", "1e-320", "2**3"]),
)
_UNITS = st.sampled_from(["", "tok/s", "s", "ms", "$", "k", "%", "/h", "GB", "W", "é"])
_VALUES = st.one_of(
    st.text(max_size=8),
    st.builds(str.__add__, _NUMBERS, _UNITS),
    st.sampled_from(["llama-2-70b", "rtx-4090", "fp8", "a=b", "rtx-4090=2", ",", "--"]),
)
# The question stays small, so that what is found acceptable is answered at once.
_OPTIONS = (
    "accelerators",
    "allow-quantization",
    "assumptions",
    "batch",
    "budget",
    "context",
    "exclude",
    "host",
    "in-flight",
    "kv",
    "kv-heads",
    "max-accelerators",
    "max-power",
    "max-racks",
    "memory-limit",
    "model",
    "network",
    "objective",
    "output",
    "overlap",
    "pcie-all-reduce",
    "prompt",
    "redundancy",
    "requests",
    "stock",
    "target",
    "throughput",
    "top",
    "ttft",
    "users",
    "weights",
    "workload",
)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(given_options=st.dictionaries(st.sampled_from(_OPTIONS), _VALUES, max_size=3))
def test_whatever_is_typed_is_answered_or_refused(
    given_options: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path_factory.getbasetemp())
    options = {
        "accelerators": "rtx-4090",
        "host": "pcie-4gpu",
        "network": "ethernet-10g",
        "max-accelerators": "8",
        "time-limit": "2s",
        "top": "1",
    } | given_options
    code = run("solve", *(f"--{name}={value}" for name, value in options.items()))

    said = capsys.readouterr()
    assert code in (0, 1, 2), said.err
    assert (said.out == "") == (code == 2)
    assert (code == 2) == bool(re.match(r"error\[E\d{3}\]", said.err))


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(content=st.one_of(st.binary(max_size=60), st.text(max_size=60).map(str.encode)))
@pytest.mark.parametrize("name", ["config.json", "model.toml", "plan.json"])
def test_whatever_a_file_holds_is_refused(
    name: str,
    content: bytes,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    file = tmp_path_factory.getbasetemp() / name
    file.write_bytes(content)
    command = ["verify"] if name == "plan.json" else ["solve", "--model"]

    refused(capsys, str(file), *command, str(file))
