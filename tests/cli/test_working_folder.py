"""What lies in the working folder is data, and never run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import planopt
from planopt.errors import InternalError

PLANOPT = Path(sys.executable).with_name("planopt")
PACKAGES = Path(planopt.__file__).parents[1]
MODULES = (
    *sys.stdlib_module_names,
    *("msgspec", "numpy", "ortools", "planopt", "pyarrow", "scipy", "tomli", "typer"),
    *("sitecustomize", "usercustomize"),
)
MARK = "was-run"
STUDY = """
[study]
models = ["llama-2-7b"]

[space]
kind = "training"
accelerators = ["h100-sxm"]
hosts = ["hgx-8"]
networks = ["infiniband-400g"]
tp = [1, 2]
sequence_parallel = [false]
micro_batch = [1]
pipeline = [[1, 1]]
recompute = ["none"]
dp = [8]
shard = ["zero1"]
rounds = 1
max_accelerators = 64

[space.run]
model = "llama-2-7b"
accelerator = "h100-sxm"
seq_len = 4096
tokens = 1e12
"""
SOLVE = ("solve", "--target", "5tok/s", "--budget", "20000")
OTHERS = {
    "train": (
        *("--model", "llama-3.2-1b", "--tokens", "20B", "--deadline", "10d"),
        *("--accelerators", "l40s", "--max-accelerators", "32"),
    ),
    "fleet": (str(Path(__file__).with_name("fleet_small.toml")),),
    "sweep": ("study.toml", "--out", "parts"),
}


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder with a module of every name that might be imported."""
    mine(tmp_path, *MODULES)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    return tmp_path


def mine(folder: Path, *modules: str) -> None:
    """Put modules into a folder that leave a mark there when they are imported."""
    mark = str(folder / MARK)
    for module in modules:
        leaves_mark = f"open({mark!r}, 'a').write(__name__ + ' ')\n"
        (folder / f"{module}.py").write_text(leaves_mark, encoding="utf-8")


def answer(command: list[str], folder: Path, import_path: str) -> dict[str, Any]:
    done = subprocess.run(
        [*command, "--json"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": import_path},
        capture_output=True,
        text=True,
        check=False,
    )
    mark = folder / MARK
    assert not mark.exists(), mark.read_text(encoding="utf-8")
    assert done.returncode == 0, done.stderr
    answered: dict[str, Any] = json.loads(done.stdout)
    return answered


def test_a_plan_is_the_same_wherever_it_is_asked_for(hostile: Path) -> None:
    expected = planopt.solve(target="5tok/s", budget=20000)

    answered = answer([str(PLANOPT), *SOLVE], hostile, str(PACKAGES))

    assert answered["price_usd"] == expected.price_usd
    assert answered["bound_usd"] == expected.bound_usd


@pytest.mark.parametrize("command", OTHERS)
def test_no_module_of_the_working_folder_is_run(command: str, hostile: Path) -> None:
    answer([str(PLANOPT), command, *OTHERS[command]], hostile, str(PACKAGES))


@pytest.mark.parametrize(
    "import_path", [f":{PACKAGES}", f"{PACKAGES}:", f".:{PACKAGES}"]
)
def test_the_solver_has_no_current_folder_where_python_puts_it_on_the_path(
    import_path: str, tmp_path: Path
) -> None:
    # Of planopt's own process that is Python's doing, but OR-Tools is imported by the
    # solver's alone.
    mine(tmp_path, "ortools")

    answer([str(PLANOPT), *SOLVE], tmp_path, import_path)
    answer([sys.executable, "-m", "planopt.cli", *SOLVE], tmp_path, import_path)


@pytest.mark.parametrize("planopt_is_installed_there", [True, False])
def test_or_tools_is_looked_for_where_this_process_imports_from(
    planopt_is_installed_there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine(tmp_path, "ortools")
    monkeypatch.syspath_prepend(str(tmp_path))
    if planopt_is_installed_there:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("planopt.procurement.solver.PACKAGES", tmp_path)

    with pytest.raises(InternalError, match="OR-Tools cannot be loaded"):
        planopt.solve(target="5tok/s", budget=20000)

    assert (tmp_path / MARK).read_text(encoding="utf-8").split() == ["ortools"]
