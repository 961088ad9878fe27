"""Diagnostics say what, where, what is accepted and how to mend it."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pytest

from planopt.errors import Diagnostic, InputError, InternalError, PlanoptError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_problem_of_a_file_shows_the_line(tmp_path: Path) -> None:
    file = tmp_path / "card.toml"
    file.write_text('id = "card"\nmemory = "24 W"\n')
    problem = Diagnostic(
        code="E105",
        message="`memory` takes bytes",
        file=str(file),
        line=2,
        column=10,
        field="memory",
        value="24 W",
        accepted="bytes, such as 24 GiB",
        help="write 24 GiB",
    )

    assert str(problem).splitlines() == [
        "error[E105]: `memory` takes bytes",
        f"  --> {file}:2:10",
        "   |",
        ' 2 | memory = "24 W"',
        "   |          ^^^^^^",
        "  = field: `memory` is `24 W`",
        "  = accepted: bytes, such as 24 GiB",
        "  = help: write 24 GiB",
    ]


def test_a_problem_of_an_option_shows_option_and_value() -> None:
    problem = Diagnostic(code="E002", message="no", field="--target", value="5GB")

    assert str(problem).splitlines() == ["error[E002]: no", "  --> --target 5GB"]


def test_a_file_that_is_gone_is_still_named(tmp_path: Path) -> None:
    problem = Diagnostic(
        code="E101", message="no", file=str(tmp_path / "gone"), line=3, column=1
    )

    assert str(problem).endswith("gone:3:1")


def test_what_the_core_says_is_read() -> None:
    raised = InputError.read(
        b"""[
            {"code": "E103", "message": "unknown key", "file": "a.toml",
             "line": 4, "column": 2, "field": "x", "value": null},
            {"code": "E006", "message": "gone", "file": "b"}
        ]"""
    )

    first, second = raised.diagnostics
    assert (first.line, first.column) == (4, 2)
    assert (second.line, second.column) == (None, None)
    assert str(raised).count("error[") == 2


@pytest.mark.parametrize("kind", [InputError, InternalError])
def test_errors_cross_process_borders(kind: type[PlanoptError]) -> None:
    error = kind.of("E001", "no", field="--model", value=3)

    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is kind
    assert copy.diagnostics == error.diagnostics


def test_the_core_may_raise_without_a_diagnostic() -> None:
    assert InternalError().diagnostics == ()


def test_a_terminal_obeys_nothing_that_is_quoted(tmp_path: Path) -> None:
    file = tmp_path / "offers.csv"
    file.write_text("\x1b[2J,\x9b1m\n", encoding="utf-8")
    problem = Diagnostic(
        code="E113",
        message="`\x1b[2J` is no figure",
        file=str(file),
        line=1,
        field="price",
        value="\x1b[2J",
    )

    assert "`\\x1b[2J` is no figure" in problem.headline
    assert "\\x1b[2J,\\x9b1m" in str(problem)
    assert problem.headline in str(problem)
    assert not {"\x1b", "\x9b"} & set(str(problem))
