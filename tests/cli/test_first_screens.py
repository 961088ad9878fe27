"""First screens: so many lines, no wider than the terminal, no word broken."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import planopt
from planopt.cli import build, main
from planopt.cli.output import style_of
from planopt.cli.progress import Progress
from planopt.printable import printable, screened
from planopt.report.screen import HEIGHT, TALL, Ends, Parts, Prediction
from planopt.report.style import Style
from planopt.report.table import Table, shortened
from planopt.steps import Step, Steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.cli.output import Answer

HERE = Path(__file__).parent
SMALL = ("--model", "llama-3.1-8b", "--accelerators", "rtx-4090,l40s,mi300x")
TRAINED = (*SMALL, "--tokens", "1B", "--deadline", "10d")
QUESTIONS = {
    "solve": ("solve", "--target", "5tok/s", "--budget", "20000"),
    "promises": ("solve", *SMALL, "--target", "20tok/s", "--ttft", "1s"),
    "rented": ("solve", "--target", "5tok/s", "--procurement", "both"),
    "train": ("train", *TRAINED),
    "fleet": ("fleet", str(HERE / "fleet_small.toml")),
    "compare": ("compare", *SMALL, "--target", "20tok/s"),
    "compare runs": ("compare", *TRAINED),
    "serving": ("evaluate", "serving", "--accelerator", "rtx-4090", "--tp", "8"),
    "loaded": (
        *("evaluate", "serving", "--accelerator", "rtx-4090", "--tp", "8"),
        *("--concurrency", "8"),
    ),
    "training": (
        *("evaluate", "training", "--accelerator", "a100-sxm-80", "--tp", "8"),
        *("--pp", "4", "--dp", "8", "--network", "infiniband-200g", "--tokens", "1T"),
    ),
    "frontier": (
        "frontier",
        *SMALL[:2],
        "--accelerators",
        "l40s",
        "--max-accelerators",
        "1",
    ),
    "front of a space": ("frontier", "--space", "calculon-gpt3-175b"),
    "infeasible run": ("train", *TRAINED[:-1], "1h", "--max-accelerators", "8"),
    "infeasible": ("solve", "--target", "50tok/s", "--budget", "3000"),
}
HIGHER = {"fleet": TALL, "infeasible": TALL, "infeasible run": TALL}
WIDTHS = (80, 100, 200)
MARKS = re.compile(r"\x1b\[[\d;]*m")


def asked(question: str, *more: str) -> dict[int, str]:
    """Ask once, and return what is shown at each width."""
    shown: dict[int, str] = {}

    def show(answered: Answer, **_: object) -> None:
        for columns in WIDTHS:
            with pytest.MonkeyPatch.context() as patched:
                patched.setenv("COLUMNS", str(columns))
                report = answered.render(printable(answered.document))
                assert not isinstance(report, str)
                shown[columns] = report.text(Style(colour=True))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(build, "show", show)
        with pytest.raises(SystemExit) as left:
            main([*QUESTIONS[question], *more])
    assert left.value.code == question.startswith("infeasible")
    return shown


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_screen_holds_the_whole_answer(question: str) -> None:
    for columns, shown in asked(question).items():
        assert "\x1b[" in shown
        assert screened(shown) == shown
        lines = MARKS.sub("", shown).splitlines()
        assert len(lines) <= HIGHER.get(question, HEIGHT), shown
        assert max(map(len, lines)) <= min(columns, 120), shown
        assert "--details" in lines[-1]


@pytest.mark.parametrize("question", ["solve", "train", "serving", "infeasible"])
def test_no_word_is_broken(question: str) -> None:
    narrow, *wide = asked(question).values()
    words = {
        word
        for shown in (*wide, *asked(question, "--details").values())
        for word in MARKS.sub("", shown).split()
    }
    for word in MARKS.sub("", narrow).split():
        assert word in words or not word.isalpha(), word


def test_a_pipe_gets_the_screen_without_colour() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "planopt.cli", *QUESTIONS["solve"]],
        capture_output=True,
        text=True,
        env={"COLUMNS": "80", "PATH": ""},
        check=True,
    )
    assert run.stderr == ""
    assert "\x1b" not in run.stdout
    assert len(run.stdout.splitlines()) <= HEIGHT
    assert max(map(len, run.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("text", "room", "left"),
    [
        (
            "Framework Desktop, Ryzen AI Max+ 395 128GB",
            34,
            "Framework Desktop, Ryzen AI ...",
        ),
        ("Framework Desktop, Ryzen AI Max+", 24, "Framework Desktop ..."),
        ("it fits", 7, "it fits"),
        ("one two", 6, "on ..."),
    ],
)
def test_a_name_is_cut_between_its_words(text: str, room: int, left: str) -> None:
    assert shortened(text, room) == left
    assert len(left) <= room


def test_what_has_no_room_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    (line,) = Parts("Assumed", ["a" * 30, "b" * 30, "c" * 3]).lines()
    assert line.endswith("a · ccc · 1 more")
    assert Parts("Assumed", []).lines() == []
    (line,) = Ends("left " * 30, "right").lines()
    assert line.startswith("left left")
    assert line.endswith(" right")
    assert len(line) == 60


def test_a_column_gives_way_before_a_name_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    titles = ("NAME", ">PRICE", "+>TCO", "WHY")
    wide = Table(titles, [("word " * 6, "$1", "$" + "2" * 20, "why " * 5)], wraps=False)
    title, row = wide.lines()
    assert "TCO" not in title
    assert "222" not in row
    narrow = Table(titles, [("word", "$1", "$2", "why")], wraps=False)
    assert "TCO" in narrow.lines()[0]


class _Terminal:
    def __init__(self, *, seen: bool, encoding: str = "utf-8") -> None:
        self.encoding = encoding
        self.isatty = lambda: seen


@pytest.mark.parametrize(
    ("told", "seen", "colour"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"TERM": "dumb"}, True, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"FORCE_COLOR": "1"}, False, True),
        ({"FORCE_COLOR": "0"}, False, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, False),
    ],
)
def test_colour_is_where_it_is_wanted(
    told: Mapping[str, str], seen: bool, colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TERM", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    stream: object = _Terminal(seen=seen)
    assert style_of(stream) == Style(colour=colour)  # type: ignore[arg-type]


def test_a_stream_without_signs_gets_ascii() -> None:
    stream: object = _Terminal(seen=False, encoding="latin-1")
    style = style_of(stream)  # type: ignore[arg-type]
    shown = style.painted("✔ 4 × H100 ≥ 5.00  ··━●━╍│ 1 – 2 ▸ ◂ ✘")
    assert shown == "+ 4 x H100 > 5.00  ..=o=-| 1 - 2 > < x"
    assert shown.isascii()


def test_details_have_what_a_screen_leaves_out() -> None:
    first, every = asked("promises")[100], asked("promises", "--details")[100]
    assert every.splitlines()[:6] == first.splitlines()[:6]
    for heading in (
        "Bill of materials",
        "Best by objective",
        "Alternatives",
        "Assumed",
    ):
        assert re.search(rf"^(\S*)  ?{heading}", every, re.M)
    assert "Bill of materials" not in first


def test_progress_has_rate_and_time_left() -> None:
    progress = Progress("evaluating")
    assert progress.line(2.0) == "evaluating  2 s"
    progress.at(Step("mixing", 250, 1000, "candidates"))
    said = progress.line(2.0)
    assert said.startswith("mixing  ━━━━ ")
    assert said.endswith(" 25% · 125 candidates/s · 6 s left")
    progress.at(Step("mixing", 250_000_000, 10**12, "candidates"))
    assert " 0% · 125M candidates/s · " in progress.line(2.0)
    progress.at(Step("mixing", 250, 1_000_000, "candidates"))
    assert progress.line(2.0).endswith(" 0% · 125 candidates/s · 133 min left")


def test_progress_of_what_nobody_can_count_ends_with_the_limit() -> None:
    progress = Progress("searching")
    progress.at(Step("judging", 40, 0, "simulations", 0.082, 14.0))
    said = progress.line(2.0)
    assert said == "judging  40 simulations, 20/s · gap 8.2% · 14 s left at most"


def test_steps_are_told_at_once_and_figures_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[str] = []
    steps = Steps(lambda step: told.append(str(step)))
    monkeypatch.setattr("planopt.steps.time.monotonic", lambda: 1e9)
    steps.far("systems", 3, 10, None)
    steps.far("systems", 4, 10, None)
    steps.at("judging", is_counted=False)
    monkeypatch.setattr("planopt.steps.time.monotonic", lambda: 2e9)
    steps.far("simulations", 9, 0, 0.5)
    assert told == ["searching: 3 of 10 systems", "judging"]


def test_the_core_tells_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planopt.steps.AGAIN", 0.0)
    told: list[Step] = []
    rows = planopt.frontier(
        model="llama-3.1-8b",
        accelerators=["rtx-4090"],
        max_accelerators=2,
        on_progress=told.append,
    )
    assert len(rows) > 0
    assert all(0 <= step.done <= step.of for step in told)
    assert {step.what for step in told} == {"systems"}


def test_progress_is_gone_when_the_work_is_done(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("planopt.cli.progress._SHOWN_AFTER", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Progress("searching") as progress:
        while not progress.shown:
            time.sleep(0.01)
    told = capsys.readouterr().err
    assert "searching  0 s" in told
    assert told.endswith("\r\x1b[K")


def test_progress_in_a_file_is_the_stages_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("planopt.cli.progress._SHOWN_AFTER", 0.0)
    with Progress("searching", stages=True) as progress:
        progress.at(Step("mixing"))
        progress.at(Step("mixing", 3, 10, "systems"))
        time.sleep(0.01)
    assert capsys.readouterr().err == "mixing\n"


def test_what_is_over_soon_shows_no_progress(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Progress("searching"):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("sign", "drawn"),
    [("≥", "·······╍╍│━━━━━●━━━━━··"), ("≤", "·······━━│╍╍╍╍╍●╍╍╍╍╍··")],
)
def test_a_bar_shows_what_of_an_interval_is_outside(sign: str, drawn: str) -> None:
    promise = Prediction("a figure", 15.0, (7.0, 20.0), 9.0, sign=sign)
    assert MARKS.sub("", promise.bar(23)) == drawn
    assert promise.cells == ("a figure", f"{sign} 9.00", "15.0", "7.00 – 20.0")


def test_what_has_no_interval_has_no_bar() -> None:
    assert Prediction("users", 8.0, (8.0, 8.0), 8.0).cells[3] == "exact"
    assert Prediction("users", 8.0, (8.0, 8.0), 8.0).bar(20) == ""
    assert Prediction("TTFT", 0.2, None, 1.0).bar(20) == ""
    assert Prediction("tok/s", None).cells == ("tok/s", "", "-", "-")


TABLES = (
    ("reproduce",),
    ("catalog", "prices"),
    ("catalog", "check"),
    ("catalog", "show", "rtx-4090"),
    ("compare", "--all", "--per-dollar", *SMALL[:2]),
    ("diff", "served.json", "trained.json"),
)


@pytest.fixture(scope="module")
def two_plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two plans that have as little in common as two can."""
    folder = tmp_path_factory.mktemp("plans")
    planopt.solve(SMALL[1], target="20tok/s", load="steady").save(
        folder / "served.json"
    )
    planopt.train("llama-2-7b", tokens="1B", deadline="10d").save(
        folder / "trained.json"
    )
    return folder


@pytest.mark.parametrize("command", TABLES, ids=" ".join)
def test_tables_end_where_the_terminal_does(
    command: tuple[str, ...],
    two_plans: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(two_plans)
    with pytest.raises(SystemExit):
        main([*command])
    told = capsys.readouterr().out
    assert told
    # A path is not broken.
    lines = [line for line in told.splitlines() if "= file: " not in line]
    assert [line for line in lines if len(line) > 80] == []
    first = {line.split("  ")[1] for line in told.splitlines() if line[:2] == "  "}
    assert not first & {"e", "n", "ckwell", "d_per_user"}
