"""``planopt calibrate`` on the processor that runs the tests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import planopt
from planopt.cli import main

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert isinstance(left.value.code, int)
    return left.value.code


def calibrated(out: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    options = ("--device", "numpy", "--accelerator", "this-cpu", "--seconds", "1s")
    assert run("calibrate", *options, "--out", str(out), "--json") == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_this_processor_is_measured_and_can_be_planned_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = calibrated(tmp_path, capsys)

    assert document["schema"] == "planopt.calibration/1"
    assert not document["known"]
    assert document["rates"]["flop_per_second"]["fp32"] > 0
    assert document["rates"]["copy_bytes_per_second"] > 0
    evaluation = planopt.evaluate(
        model="llama-3.2-1b",
        accelerator="this-cpu",
        catalog=[str(tmp_path)],
        assumptions="measured",
    )
    assert evaluation.decode.tokens_per_second_per_user == pytest.approx(
        document["changes"][-1]["after"]
    )
    assert run("catalog", "check", "--catalog", str(tmp_path)) == 0


def test_the_answer_says_how_to_use_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    options = ("--device", "numpy", "--seconds", "500ms", "--out", str(folder))

    assert run("calibrate", *options) == 0

    shown = capsys.readouterr()
    words = " ".join(shown.out.split())
    assert f"--catalog {folder} --assumptions measured" in words
    assert "copy" in shown.err


def test_files_that_are_there_are_told_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calibrated(tmp_path, capsys)
    options = ("--device", "numpy", "--accelerator", "this-cpu", "--seconds", "300ms")

    assert run("calibrate", *options, "--out", str(tmp_path)) == 2

    said = capsys.readouterr().err
    assert said.count("error[E010]") == 3
    assert "copy" not in said
    assert run("calibrate", *options, "--out", str(tmp_path), "--force") == 0


@pytest.mark.parametrize(
    ("options", "code", "place"),
    [
        (("--seconds", "5"), "E002", "--seconds"),
        (("--seconds", "0s"), "E003", "--seconds"),
        (("--accelerator", "My GPU"), "E002", "--accelerator"),
        (("--accelerator", "../gpu"), "E002", "--accelerator"),
        (("--device", "abacus"), "E004", "--device"),
        (("--assumptions", "nothing"), "E001", "--assumptions"),
    ],
)
def test_wrong_input_is_told(
    options: tuple[str, ...],
    code: str,
    place: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("calibrate", *options, "--out", str(tmp_path / "none")) == 2

    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"error[{code}]" in shown.err
    assert place in shown.err
    assert not (tmp_path / "none").exists()


def test_a_folder_that_cannot_be_written_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder", encoding="utf-8")
    options = ("--device", "numpy", "--seconds", "300ms", "--out", str(in_the_way))

    assert run("calibrate", *options) == 2
    assert "error[E006]" in capsys.readouterr().err
