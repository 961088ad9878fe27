"""What type checkers say of scripts that use planopt, and what planopt says itself."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import planopt

SCRIPTS = Path(__file__).parents[1] / "typed"
CHECKERS = [
    pytest.param(["mypy", "--strict", "--config-file="], id="mypy"),
    # pyright, with the node that it needs in the same wheel.
    pytest.param(
        ["basedpyright", "--level", "error", "--pythonpath", sys.executable],
        id="pyright",
        marks=pytest.mark.skipif(
            find_spec("basedpyright") is None, reason="basedpyright is not installed"
        ),
    ),
]

MISSPELT = """
import planopt

plan = planopt.solve("llama-3.1-8b", targt="5tok/s")
"""


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder for what mypy has read already."""
    return str(tmp_path_factory.mktemp("mypy"))


def checked(
    checker: list[str], script: Path, known: str
) -> subprocess.CompletedProcess[str]:
    folder = Path(planopt.__file__).parents[1]
    # Where it is installed, type checkers find it themselves.
    there = {} if folder.name == "site-packages" else {"MYPYPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", *checker, str(script)],
        capture_output=True,
        text=True,
        check=False,
        cwd=script.parent,
        env={**os.environ, **there, "MYPY_CACHE_DIR": known},
    )


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_script_that_plans_capacity_is_typed(checker: list[str], known: str) -> None:
    found = checked(checker, SCRIPTS / "capacity.py", known)
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_misspelt_keyword_is_an_error_of_types(
    checker: list[str], tmp_path: Path, known: str
) -> None:
    script = tmp_path / "misspelt.py"
    script.write_text(MISSPELT, encoding="utf-8")
    found = checked(checker, script, known)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "targt" in found.stdout


def test_a_misspelt_keyword_is_told_as_on_the_command_line() -> None:
    with pytest.raises(planopt.InputError, match="did you mean `--target`"):
        exec(MISSPELT, {})


def test_the_script_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(SCRIPTS / "capacity.py"), run_name="__main__")
    told = capsys.readouterr().out
    assert "worth buying" in told
    assert planopt.__version__ in told


def test_no_plan_is_an_error_where_that_is_asked_for() -> None:
    plan = planopt.solve("llama-3.1-405b", target="5tok/s", budget=3000)
    with pytest.raises(planopt.Infeasible, match=r"no plan meets .*budget") as none:
        plan.raise_if_infeasible()
    (problem,) = none.value.diagnostics
    assert (problem.code, none.value.exit_code) == ("E201", 1)
    assert problem.help
    assert "--budget" in problem.help


def test_a_model_is_named_once() -> None:
    with pytest.raises(planopt.InputError, match="two models"):
        planopt.solve("llama-3.1-8b", model="llama-2-7b", target="5tok/s")


def test_a_bill_is_a_table_too(tmp_path: Path) -> None:
    plan = planopt.solve("llama-3.1-8b", target="20tok/s", catalog=tmp_path)
    assert plan.request.catalog == (str(tmp_path),)
    again = planopt.Plan.from_json(plan.to_json())
    for bill in (plan.bill_of_materials, again.bill_of_materials):
        table = bill.to_arrow()
        assert table.column("id").to_pylist() == [line.id for line in bill]
        assert sum(table.column("price_usd").to_pylist()) == plan.price_usd
