"""The one table of options, and what is made of it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
import write_options

import planopt
from planopt.article.reproduce import published_figures
from planopt.catalog.open import open_catalog
from planopt.cli import main
from planopt.cli.build import _completed
from planopt.cli.program import program
from planopt.errors import InputError
from planopt.fleets.plan import fleet as plan_fleet
from planopt.market import read_market
from planopt.options import Asked, Option, completed, given, table, taken_by, unknown
from planopt.serving.question_types import Goal, Problem
from planopt.sweeps.study import read_study
from planopt.training.problem import TrainingProblem

if TYPE_CHECKING:
    from planopt.cli.build import Command

ROOT = Path(__file__).parents[2]
ASK = ROOT / "rust" / "planopt-core" / "src"
ASIDE = ("dollar", "--space", "--islands", "--neighbours")
TYPED = [each for each in table().commands if not each.endswith(ASIDE)]
"""Commands as they are typed; the others are ways of asking four of them."""
OPTIONS = {option.name: option for option in table().options}


def built(command: str) -> Command:
    found: Any = program()
    for name in command.split():
        found = found.commands[name]
    return found  # type: ignore[no-any-return] # what the group holds


def flags(command: str) -> set[str]:
    whole = built(command)
    context = whole.make_context(
        command, [], resilient_parsing=True, help_option_names=["-h", "--help"]
    )
    return {flag for each in whole.get_params(context) for flag in each.opts}


def refused(command: str, *arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main([*command.split(), *arguments])
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.mark.parametrize("command", TYPED)
def test_a_command_takes_its_options_and_refuses_all_others(command: str) -> None:
    taken = {option.flag for option in taken_by(command).values()}
    there = {each for each in flags(command) if each.startswith("--")} - {"--help"}

    others = (name for option in taken_by(command).values() for name in option.hidden)
    assert there - {f"--{name}" for name in others} == taken
    for option in table().options:
        if option.flag in taken:
            continue
        problem = unknown(command, option.name)
        assert problem.code == "E004"
        assert problem.field == option.flag
        takers = [
            name
            for name, own in option.commands.items()
            if own.refuse is None and f"`planopt {name}`" in (problem.accepted or "")
        ]
        assert takers


@pytest.mark.parametrize(
    ("command", "option", "word"),
    [
        ("compare --per-dollar", "--top=3", "lists all that nothing else beats"),
        ("frontier", "--steps", "planopt solve"),
        ("frontier", "--price-band=20%", "planopt solve"),
        ("frontier", "--time-limit=5s", "planopt solve"),
        ("frontier", "--budget=20000", "at every price"),
        ("fleet fleet.toml", "--pcie-all-reduce=slow", "evaluate serving"),
        ("solve", "--tokens=2T", "planopt train"),
        ("solve", "--gpu-type=rtx-4090", "`--accelerators`"),
    ],
)
def test_what_a_command_does_not_use_is_refused_by_it(
    command: str, option: str, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(command, option) == 2
    assert word in capsys.readouterr().err


def test_a_ranking_and_a_space_refuse_what_they_do_not_use(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ranking = ("--per-dollar", "--all", "--price-band", "20%", "--budget", "5000")
    assert refused("compare", *ranking) == 2
    said = capsys.readouterr().err
    assert "--> --price-band" in said
    assert "--> --budget" in said
    assert refused("frontier", "--space", "training", "--target", "5") == 2
    assert "--> --target" in capsys.readouterr().err


def test_keywords_that_there_are_not_are_told_with_the_nearest() -> None:
    call: Any = planopt.solve
    with pytest.raises(InputError) as error:
        call(targt=5, budged=20_000, tokens="2T")
    told = {problem.field: problem for problem in error.value.diagnostics}
    assert told["--targt"].help == "did you mean `--target`?"
    assert told["--budged"].help == "did you mean `--budget`?"
    assert told["--tokens"].code == "E004"


def test_other_names_of_an_option_are_the_same_option() -> None:
    assert given("solve", {"prices": {"a": 1}, "target": None}) == {"prices": {"a": 1}}
    for option in table().options:
        for alias in option.aliases:
            (command, *_) = option.commands
            assert given(command, {alias: "x"}) == {option.argument: "x"}


def test_what_is_made_of_the_table_is_up_to_date() -> None:
    said = "run `make options`"
    assert write_options.TYPES.read_text("utf-8") == write_options.types(), said
    assert write_options.PAGE.read_text("utf-8") == write_options.page(), said


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("call", "word"),
    [
        ("planopt.solve(target='5tok/s', budget=20_000, steps=True)", None),
        ("planopt.solve(targt='5tok/s')", "targt"),
        ("planopt.frontier(top=3)", "top"),
        ("planopt.evaluate_serving(accelerator='l40s', tp=2, dropout=True)", "dropout"),
        ("planopt.compare(accelerators='l40s', tokens='2T')[0].renting", None),
    ],
)
def test_a_misspelt_keyword_is_an_error_of_types(
    call: str, word: str | None, tmp_path: Path
) -> None:
    from mypy.api import run

    file = tmp_path / "call.py"
    file.write_text(f"import planopt\n{call}\n", "utf-8")
    config = str(ROOT / "pyproject.toml")
    said, _, status = run(["--config-file", config, str(file)])
    assert (status != 0) == (word is not None), said
    assert word is None or f'"{word}"' in said


def test_words_of_the_table_are_those_of_the_types() -> None:
    words = {name: option.choices for name, option in taken_by("solve").items()}
    assert words["objective"] == get_args(Goal)
    assert words["percentile"] == ("p50", "p90", "p95", "p99", "mean")


@pytest.mark.parametrize("option", list(table().options), ids=lambda each: each.name)
def test_the_default_of_an_option_can_be_read(option: Option) -> None:
    for command, own in option.commands.items():
        if own.refuse is not None:
            continue
        taken = option.taken(command)
        read = Asked(command, {}).values()
        if taken.default is not None:
            assert option.argument in read


def test_topics_are_those_of_the_article() -> None:
    topics = {figure.topic for figure in published_figures()}
    assert set(OPTIONS["topic"].choices) == topics


def test_who_asks_for_no_speed_is_promised_none() -> None:
    problem = read_market(Asked("solve", {}), open_catalog(), Problem)
    assert (problem.target, problem.throughput) == (0.0, 0.0)


@pytest.mark.parametrize("command", ["solve", "train", "compare", "frontier"])
def test_accelerators_of_a_vendor_are_those_that_nobody_else_makes(
    command: str,
) -> None:
    catalog = open_catalog()
    of = TrainingProblem if command == "train" else Problem
    run = {"tokens": "2T", "deadline": "30d"} if command == "train" else {}

    def excluded(**options: object) -> set[str]:
        return set(read_market(Asked(command, {**run, **options}), catalog, of).exclude)

    others = excluded(vendor="amd,Intel")
    assert {"h100-sxm", "tpu-v5e"} <= others
    assert not {"mi300x", "rx-7900-xtx"} & others
    assert excluded(vendor=["AMD", "intel"], exclude="mi300x") == {*others, "mi300x"}
    with pytest.raises(InputError, match="did you mean `nvidia`"):
        excluded(vendor="nvidea")
    with pytest.raises(InputError, match="mi300x asked for"):
        excluded(vendor="nvidia", accelerators="mi300x,h100-sxm")


def _keys(kind: str) -> list[tuple[str, Option]]:
    return [(key, o) for o in table().options for key in o.toml.get(kind, ())]


@pytest.mark.parametrize("key", [key for key, _ in _keys("fleet")])
def test_a_key_of_a_fleet_has_the_unit_and_the_limits_of_its_option(
    key: str, tmp_path: Path
) -> None:
    text = (ROOT / "docs" / "how-to" / "fleet.toml").read_text("utf-8")
    *tables, last = key.split(".")
    header = f"[[{'.'.join(tables)}]]"
    if tables == ["train"]:
        text += (
            '\n[[train]]\nname = "t"\nmodel = "llama-3.1-8b"\nregion = "us"\n'
            'tokens = "2T"\ndeadline = "90d"\nseq_len = 4096\nglobal_batch = 1024\n'
        )
    if header not in text:
        header = f"[{'.'.join(tables)}]"
    before, _, after = text.partition(header)
    body, gap, rest = after.partition("\n\n")
    kept = [line for line in body.splitlines() if not line.startswith(f"{last} =")]
    file = tmp_path / "fleet.toml"
    for wrong, code in (('"3 furlongs"', "E105"), ("-1", "E10"), ("1e300", "E10")):
        lines = [kept[0], f"{last} = {wrong}", *kept[1:]]
        file.write_text(before + header + "\n".join(lines) + gap + rest, "utf-8")
        with pytest.raises(InputError) as error:
            plan_fleet(file)
        (problem, *_) = error.value.diagnostics
        assert problem.code.startswith(code)
        assert (problem.field or "").endswith(last)


def test_a_study_has_the_keys_of_the_table() -> None:
    from planopt.sweeps.study import Axes

    for key, _ in _keys("study"):
        group, _, field = key.partition(".")
        assert group == "study"
        assert field in Axes.__struct_fields__


def test_all_that_is_wrong_with_a_study_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text("[study]\nchunk = 0\nmodels = 3\nwhat = 1\n", "utf-8")
    with pytest.raises(InputError) as error:
        read_study(str(file))
    fields = [problem.field for problem in error.value.diagnostics]
    assert fields == ["space", "study.what", "study.models", "study.chunk"]


def test_values_are_completed() -> None:
    options = taken_by("solve")
    assert completed(options["objective"], "cost") == ["cost-per-token"]
    assert _completed(options["allow_quantization"], "fp8,int") == [
        "fp8,int8",
        "fp8,int4",
    ]
    assert "rtx-4090" in _completed(options["accelerators"], "rtx-40")
    assert completed(options["target"], "") == []


@pytest.mark.parametrize("command", ["", "solve", "evaluate serving", "catalog"])
def test_help_is_as_it_was(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert refused(command, "--help") == 0
    name = "-".join(["help", *command.split()])
    golden = ROOT / "tests" / "cli" / "golden" / f"{name}.txt"
    assert capsys.readouterr().out == golden.read_text("utf-8")


def examples(text: str) -> list[str]:
    """Commands in a text, each a paragraph or a line of it."""
    lines = (" ".join(part.split()) for part in text.split("\n\n"))
    return [line for line in lines if line.startswith("planopt ")]


def understood(example: str) -> None:
    """Read a command line, and run nothing."""
    name, *words = shlex.split(example)
    assert name == "planopt"
    command: Any = program()
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    command.make_context(name, words)


@pytest.mark.parametrize("command", TYPED)
def test_each_command_has_an_example_that_it_understands(command: str) -> None:
    found = examples(built(command).help or "")
    assert found
    for example in found:
        assert example.startswith(f"planopt {command}")
        understood(example)


def test_no_question_at_all_shows_three(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused("") == 0
    told = capsys.readouterr().out.splitlines()
    assert max(map(len, told)) <= 80
    assert len(told) < 24
    for line in told:
        before, is_there, example = line.partition(" planopt ")
        if is_there and before and "--help" not in example:
            understood(f"planopt {example.partition('   ')[0]}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"users": 4}, {"concurrency": 8}),
        ({"target": "20tok/s"}, {"tpot": "30ms"}),
    ],
)
def test_names_of_one_option_do_not_overrule_each_other(
    one: dict[str, object], other: dict[str, object]
) -> None:
    with pytest.raises(InputError) as caught:
        given("solve", {**one, **other})
    (problem,) = caught.value.diagnostics
    assert problem.code == "E004"
    assert problem.field == f"--{next(iter(other))}"
    assert all(f"--{name}" in problem.message for name in (*one, *other))


def test_the_same_said_twice_is_said_once() -> None:
    assert given("solve", {"users": 4, "concurrency": 4}) == {"concurrency": 4}
