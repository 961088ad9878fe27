"""Training on the command line: exit codes, streams, options."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from planopt.cli import main
from planopt.documents.plan import TrainingPlan
from planopt.documents.training import TrainingDocument
from planopt.options import taken_by

if TYPE_CHECKING:
    from pathlib import Path

TRAINING_MARKS = (taken_by("train").keys() & taken_by("compare").keys()) - taken_by(
    "solve"
).keys()
SMALL = (
    *("--model", "llama-3.2-1b", "--tokens", "20B", "--seq-len", "2048"),
    *("--global-batch", "64", "--max-accelerators", "32"),
)
LAYOUT = (
    *("--accelerator", "a100-sxm-80", "--network", "infiniband-200g"),
    *("--tp", "8", "--pp", "4", "--dp", "64", "--sequence-parallel"),
    *("--zero", "1", "--tokens", "2T"),
)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert isinstance(left.value.code, int)
    return left.value.code


def test_a_plan_is_shown_and_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "plan.json"
    question = (*SMALL, "--deadline", "10d", "--accelerators", "l40s")

    assert run("train", *question, "--out", str(out)) == 0

    shown = capsys.readouterr()
    for figure in ("cheapest in the space", "MFU", "goodput", "≤ 10.0"):
        assert figure in shown.out
    assert shown.err == ""
    plan = TrainingPlan.load(out)
    assert plan.request.deadline_seconds == 10 * 86_400
    assert plan.request.typed["deadline"] == "10d"


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", *SMALL, "--budget", "100k", "--json") == 0

    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "planopt.plan/2"
    assert document["kind"] == "training"
    assert document["deployments"][0]["evaluation"]["goodput"] < 1


def test_no_plan_is_exit_code_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("train", *SMALL, "--deadline", "1h", "--accelerators", "l4") == 1

    shown = capsys.readouterr().out
    assert "no plan meets these limits" in shown
    assert "planopt train ..." in shown


@pytest.mark.parametrize(
    ("options", "code", "place"),
    [
        ((), "E005", "--tokens"),
        (("--tokens", "2T"), "E005", "--deadline"),
        (("--tokens", "2W", "--deadline", "3d"), "E002", "--tokens"),
        (("--tokens", "2T", "--deadline", "3GB"), "E002", "--deadline"),
        (("--tokens", "2T", "--deadline", "-3d"), "E003", "--deadline"),
        (("--tokens", "2T", "--deadline", "1e-308s"), "E003", "--deadline"),
        (("--tokens", "0", "--deadline", "3d"), "E003", "--tokens"),
        (("--tokens", "1e19", "--deadline", "3d"), "E003", "--tokens"),
        (("--tokens", "2T", "--deadline", "3d", "--seq-len", "0"), "E003", "--seq-len"),
        (("--tokens", "2T", "--budget", "5/h"), "E004", "--budget"),
        (
            ("--tokens", "2T", "--deadline", "3d", "--max-accelerators", "2000000"),
            "E003",
            "--max-accelerators",
        ),
        (
            ("--tokens", "2T", "--deadline", "3d", "--global-batch", "2000000"),
            "E003",
            "--global-batch",
        ),
        (("--tokens", "2T", "--deadline", "3d", "--stock", "a=1"), "E001", "--stock"),
        (
            ("--tokens", "2T", "--deadline", "3d", "--objective", "latency"),
            "E001",
            "--objective",
        ),
        (
            ("--tokens", "2T", "--deadline", "3d", "--precision", "bf15"),
            "E001",
            "--precision",
        ),
        (
            ("--tokens", "2T", "--deadline", "3d", "--accelerators", "a200"),
            "E001",
            "--accelerators",
        ),
    ],
)
def test_wrong_input_is_told_with_its_place(
    options: tuple[str, ...],
    code: str,
    place: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("train", *options) == 2

    shown = capsys.readouterr()
    assert shown.out == ""
    assert code in shown.err
    assert place in shown.err
    assert "Traceback" not in shown.err


def test_an_evaluation_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("evaluate", "training", *LAYOUT, "--details") == 0

    shown = capsys.readouterr().out
    for figure in ("fits", "MFU", "optimizer", "bubble", "accelerator-hours", "kWh"):
        assert figure in shown


def test_an_evaluation_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("evaluate", "training", *LAYOUT, "--json") == 0

    evaluation = TrainingDocument.from_json(capsys.readouterr().out)
    assert evaluation.accelerators == 2048
    assert evaluation.candidate.shard == "zero1"


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("--tp", "3"), "heads"),
        (("--pp", "81", "--dp", "1"), "layers"),
        (("--global-batch", "1000"), "global batch"),
        (("--ep", "2"), "experts"),
        (("--pp", "1", "--dp", "1", "--tp", "1"), "memory"),
    ],
)
def test_what_cannot_be_is_an_answer_with_numbers(
    change: tuple[str, str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("evaluate", "training", *LAYOUT, *change) == 0

    shown = " ".join(capsys.readouterr().out.split())
    assert "does not fit" in shown
    assert what in shown


def test_wrong_words_of_an_evaluation_are_told_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    wrong = ("--tp", "0", "--mfu", "300%", "--flash-attention", "maybe")

    assert run("evaluate", "training", *wrong) == 2

    told = capsys.readouterr().err
    for option in ("--accelerator", "--tp", "--mfu", "--flash-attention"):
        assert option in told


def test_an_interruption_shows_what_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from planopt.planning import pipeline

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "run_sensitivities", interrupt)

    assert run("train", *SMALL, "--deadline", "10d") == 130

    assert "cheapest in the space" in capsys.readouterr().out


def test_runs_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    question = (*SMALL, "--deadline", "10d", "--accelerators", "l40s,rtx-4090")

    assert run("compare", *question) == 0

    shown = capsys.readouterr().out
    for figure in ("MFU", "Goodput", "kg CO2e", "cheapest: "):
        assert figure in shown


def test_a_comparison_is_of_serving_or_of_training(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("compare", *SMALL, "--concurrency", "8", "--accelerators", "l40s") == 2

    assert "--concurrency" in capsys.readouterr().err


@pytest.mark.parametrize("mark", sorted(TRAINING_MARKS - {"tokens"}))
def test_a_comparison_of_training_asks_for_its_tokens(
    mark: str, capsys: pytest.CaptureFixture[str]
) -> None:
    option = "--" + mark.replace("_", "-")
    value = {"deadline": "30d", "precision": "bf16", "optimizer": "adam"}.get(mark, "1")

    assert run("compare", "--accelerators", "l40s,h100-sxm", option, value) == 2
    assert "--> --tokens" in capsys.readouterr().err
    assert run("compare", "--accelerators", "l40s", "--per-dollar", option, value) == 2
    assert f"--> {option}" in capsys.readouterr().err


def test_each_option_of_serving_is_out_of_place_in_a_comparison_of_training(
    capsys: pytest.CaptureFixture[str],
) -> None:
    serving = ("--concurrency", "8", "--target", "5tok/s")
    assert run("compare", "--accelerators", "l40s", "--seq-len", "1", *serving) == 2

    told = capsys.readouterr().err
    assert "--> --concurrency" in told
    assert "--> --target" in told
    assert "--seq-len about training" in told
