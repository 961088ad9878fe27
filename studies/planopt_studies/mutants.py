"""Whether tests notice a changed formula: two hundred mutants, drawn by a seed.

Half are of the core, as cargo-mutants lists them, half of the Python beside it, by the
operators of Cosmic Ray. All of the core are compiled at once, each behind a switch that
a variable of the environment turns; one run of the tests without any says which test
comes by which mutant, and each is tried by those tests, until one fails that passes
again without it. What was tried is not tried again.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import parso.python.tree  # noqa: F401 - before Cosmic Ray, which reads it half made
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

MUTANTS: Final = 200
SEED: Final = 2026
TIMES_AS_LONG: Final = 10
"""As tests take without a mutant: with it, they do not end."""
STARTS_SECONDS: Final = 30
"""That tests may take beyond that. Seconds are those of the processor, here and there:
a busy machine kills no mutant."""
WAITS_SECONDS: Final = 3600
"""Of a clock, after which tests wait for nothing: what is so is not known."""
MOST_BYTES: Final = 16 << 30
"""What a mutant may ask of the memory before it is told no."""
MOST_SECONDS: Final = 90.0
"""That tests of one mutant take without it; beyond that it is said to survive."""
FIRST_SECONDS: Final = 4.0
"""Of the tests that are asked first; those after them take twice as long each time."""
CORE: Final = "rust/planopt-core/src"
ROOMS: Final = (
    *(f"{CORE}/{room}" for room in ("compute", "memory", "parallel", "serving")),
    *(f"{CORE}/{room}" for room in ("training", "transformer", "search", "bill")),
    *(f"{CORE}/{room}" for room in ("cost", "load")),
    *(f"python/planopt/{room}" for room in ("procurement", "fleets", "planning")),
    *(f"python/planopt/{room}" for room in ("serving", "training")),
)
"""Rooms of formulas, purchases, fleets and promises."""
TESTS: Final = ("golden", "differential", "properties", "boundary", "unit", "cli")
"""Tests of Python that hold figures."""
BY_A_CLOCK: Final = ("time_limit", "streams_and_signals", "test_faults", "test_bench")
"""Tests that a busy machine fails as well."""
ALIVE: Final = ("survived", "not come by")
MARKS_BYTES: Final = 4096
"""More than there are mutants."""

SWITCH: Final = """
/// Which mutant is on, and which of them a test comes by.
#[allow(unsafe_code, missing_docs)]
pub mod mutant {
    use std::os::fd::IntoRawFd;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU8, Ordering};

    type Marks = Option<&'static [AtomicU8]>;

    unsafe extern "C" {
        fn mmap(at: usize, size: usize, may: i32, how: i32, file: i32, from: i64)
        -> *mut AtomicU8;
    }

    static ON: OnceLock<(Option<usize>, Marks)> = OnceLock::new();

    fn read() -> (Option<usize>, Marks) {
        let named = |name| std::env::var(name).ok();
        let on = named("PLANOPT_MUTANT").and_then(|on| on.parse().ok());
        let marks = named("PLANOPT_MARKS").map(|path| {
            let mut how = std::fs::File::options();
            let file = how.read(true).write(true).open(path).expect("marks");
            unsafe {
                let at = mmap(0, 4096, 3, 1, file.into_raw_fd(), 0);
                std::slice::from_raw_parts(at, 4096)
            }
        });
        (on, marks)
    }

    #[inline]
    pub fn is(number: usize) -> bool {
        let (on, marks) = ON.get_or_init(read);
        if let Some(marks) = marks {
            marks[number].store(1, Ordering::Relaxed);
        }
        *on == Some(number)
    }
}
"""

MARKS: Final = """
import mmap
import os

marks = bytearray(4096)
if "PLANOPT_MARKS" in os.environ:
    with open(os.environ["PLANOPT_MARKS"], "r+b") as file:
        marks = mmap.mmap(file.fileno(), 4096)
"""

PLUGIN: Final = """
import json
import os

import pytest
from planopt._marks import marks

failed = set()


def pytest_runtest_logreport(report):
    if not report.passed:
        failed.add(report.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    marks[:] = bytes(4096)
    since = sum(os.times()[:4])
    done = yield
    if item.nodeid not in failed:
        with open(os.environ["PLANOPT_CAME_BY"], "a") as lines:
            came_by = [number for number, mark in enumerate(marks[:]) if mark]
            seconds = sum(os.times()[:4]) - since
            lines.write(json.dumps(["pytest", item.nodeid, seconds, came_by]) + "\\n")
    return done
"""


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    number: int
    file: str
    line: int
    what: str
    text: str
    """The whole file, changed, of Python."""
    first: int = 0
    """Where the change is, as characters of the file before, ..."""
    last: int = 0
    put: str = ""
    """... and what stands there instead."""
    function: tuple[int, int] = (0, 0)
    """The function around it, likewise."""
    returns: str = ""

    @property
    def of_core(self) -> bool:
        """Whether it is of the core."""
        return self.file.startswith(CORE)

    @property
    def words(self) -> set[str]:
        """Words of its room and file, by which tests are known that are of them."""
        return words("/".join(Path(self.file).with_suffix("").parts[-2:]))


@dataclass(frozen=True)
class Tried:
    """What became of a mutant."""

    number: int
    file: str
    line: int
    what: str
    outcome: str
    """`killed`, `survived`, `not come by`, `no code` where it does not compile,
    or `no switch`."""
    by: str
    seconds: float


@dataclass(frozen=True)
class Test:
    """A test that passes, what it takes, and the mutants that it comes by."""

    suite: str
    """`pytest`, or the program of Rust that it is in."""
    name: str
    seconds: float
    came_by: list[int]

    @property
    def file(self) -> str:
        """File that it is in."""
        return self.name.partition("::")[0] if self.suite == "pytest" else self.suite


def words(name: str) -> set[str]:
    """Take a name to pieces; `pool` and `pools` are one word."""
    return {word.removesuffix("s") for word in re.split(r"[^a-z]+", name) if word}


# --- What is changed ------------------------------------------------------------------


def of_core(checkout: Path, count: int, draw: random.Random) -> Iterator[Mutant]:
    """Draw changes that cargo-mutants would make of the core."""
    globs = [f"--file={room}/**" for room in ROOMS if room.startswith(CORE)]
    command = ["cargo", "mutants", "--list", "--json", "--package=planopt-core", *globs]
    listed = json.loads(
        subprocess.run(command, cwd=checkout, check=True, capture_output=True).stdout
    )
    for number, each in enumerate(draw.sample(listed, count)):
        text = (checkout / each["file"]).read_text(encoding="utf-8")
        first, last = _places(text, each["span"])
        around = each["function"]
        yield Mutant(
            2 * number,
            each["file"],
            each["span"]["start"]["line"],
            each["name"].split(": ", 1)[1],
            "",
            first,
            last,
            each["replacement"],
            _places(text, around["span"]) if around else (0, 0),
            around["return_type"] if around else "",
        )


def _places(text: str, span: dict[str, dict[str, int]]) -> tuple[int, int]:
    lines = text.splitlines(keepends=True)
    first, last = (
        sum(map(len, lines[: at["line"] - 1])) + at["column"] - 1
        for at in (span["start"], span["end"])
    )
    return first, last


def of_python(checkout: Path, count: int, draw: random.Random) -> Iterator[Mutant]:
    """Draw places of the Python beside the core, and of each what may be done to it."""
    operators = {
        name: get_operator(name)()
        for name in operator_names()
        # A type is no formula, and what has arguments knows the names of one file.
        if not get_operator(name).arguments() and "BitOr" not in name
    }
    places: dict[tuple[str, Any], list[tuple[str, int]]] = {}
    for room in ROOMS:
        for file in sorted((checkout / room).rglob("*.py")):
            nodes = [*ast_nodes(get_ast(file.read_text(encoding="utf-8")))]
            for name, operator in operators.items():
                found = (
                    at for each in nodes for at in operator.mutation_positions(each)
                )
                for occurrence, at in enumerate(found):
                    of = places.setdefault((str(file.relative_to(checkout)), at), [])
                    of.append((name, occurrence))
    for number, place in enumerate(draw.sample(sorted(places), count)):
        changed, ((line, _), _) = place
        name, occurrence = draw.choice(places[place])
        before = (checkout / changed).read_text(encoding="utf-8")
        text = mutate_code(before, operators[name], occurrence)
        yield Mutant(2 * number + 1, changed, line, name.split("/")[1], text)


def drawn(checkout: Path, seed: int, count: int) -> list[Mutant]:
    """Draw so many mutants, of the core and of Python in turn."""
    draw = random.Random(seed)
    half = count // 2
    pairs = zip(
        of_core(checkout, half, draw), of_python(checkout, half, draw), strict=True
    )
    return [mutant for pair in pairs for mutant in pair]


# --- All mutants of the core behind a switch ------------------------------------------

_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/|r(\#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\[^']+|[^'\\])'"""
    r"|[][(){}]",
    re.DOTALL,
)


def _body(text: str, mutant: Mutant) -> tuple[int, int] | None:
    """Find what stands between the braces of a function, if that can be switched."""
    start, end = mutant.function
    depth = 0
    for token in _TOKEN.finditer(text, start, end):
        depth += (token[0] in "([") - (token[0] in ")]")
        if token[0] == "{" and not depth:
            head = text[start : token.start()]
            never = "impl " in mutant.returns or re.search(r"\bconst fn\b", head)
            inside = token.end() <= mutant.first
            return (token.end(), end - 1) if inside and not never else None
    return None


@dataclass(frozen=True)
class Lines:
    """Lines that mutants take; of one it is its own body, of several their function."""

    first: int
    last: int
    numbers: list[int]


def switched(text: str, mutants: Iterable[Mutant]) -> tuple[str, list[Lines]]:
    """Put mutants of a file behind their switches, and say where each is."""
    bodies: dict[tuple[int, int], list[Mutant]] = {}
    for mutant in sorted(mutants, key=lambda each: each.function[0]):
        if body := _body(text, mutant):
            outer = [at for at in bodies if at[0] <= body[0] and body[1] <= at[1]]
            bodies.setdefault(outer[0] if outer else body, []).append(mutant)
    after, places, done = "", [], 0
    for (first, last), within in sorted(bodies.items()):
        after += text[done:first] + "\n"
        begins = after.count("\n")
        for each in within:
            changed = text[first : each.first] + each.put + text[each.last : last]
            line = after.count("\n") + 1
            after += f"if crate::mutant::is({each.number}) {{{changed}\n}} else\n"
            places.append(Lines(line, after.count("\n"), [each.number]))
        after += f"{{{text[first:last]}\n}}"
        numbers = [each.number for each in within]
        places.append(Lines(begins, after.count("\n") + 1, numbers))
        done = last
    return after + text[done:], places


def restored(checkout: Path, folder: str) -> None:
    """Take out what an earlier run may have left."""
    restore = ["git", "checkout", "--quiet", "--", folder]
    subprocess.run(restore, cwd=checkout, check=True)


def put_behind_switches(
    checkout: Path, mutants: Sequence[Mutant]
) -> tuple[dict[int, str], dict[str, str]]:
    """Change the core of a checkout and build its tests and its module.

    What became of each mutant is told, and where the programs with the tests are.
    """
    restored(checkout, "rust")
    became = {each.number: "switched" for each in mutants}
    files = sorted({each.file for each in mutants})
    library = checkout / CORE / "lib.rs"
    text = library.read_text(encoding="utf-8").replace("#![forbid(unsafe_code)]", "")
    library.write_text(text + SWITCH, encoding="utf-8")
    before = {name: (checkout / name).read_text(encoding="utf-8") for name in files}
    for each in mutants:
        if not _body(before[each.file], each):
            became[each.number] = "no switch"
    while True:
        places = dict[str, list[Lines]]()
        for name in files:
            of = [each for each in mutants if each.file == name]
            on = [each for each in of if became[each.number] == "switched"]
            changed, places[name] = switched(before[name], on)
            (checkout / name).write_text(changed, encoding="utf-8")
        told = _cargo(checkout, "test", "--no-run", "--package=planopt-core")
        errors = {*_errors(told)}
        for name, line in errors:
            # A body of its own comes before its function.
            around = [at for at in places[name] if at.first <= line <= at.last]
            of_it = min(around, key=lambda at: at.last - at.first)
            why = "no code" if len(around) > 1 else "no switch"
            became |= dict.fromkeys(of_it.numbers, why)
        if not errors:
            break
    module = ("build", "--package=planopt-py")
    told_of_module = _cargo(checkout, *module, "--features=pyo3/extension-module")
    names = [name for each in told_of_module for name in each.get("filenames", ())]
    (built,) = (name for name in names if name.endswith("lib_native.so"))
    shutil.copy(built, checkout / "python" / "planopt" / "_native.abi3.so")
    programs = {
        each["target"]["name"]: each["executable"]
        for each in told
        if each.get("executable")
    }
    # It reads the sources, whose order is another one now.
    programs.pop("architecture", None)
    return became, programs


def _errors(told: Iterable[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    for each in told:
        message = each.get("message", {})
        if message.get("level") == "error":
            for span in message["spans"]:
                if span["is_primary"]:
                    yield span["file_name"], span["line_start"]


def _cargo(checkout: Path, *command: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        ["cargo", *command, "--message-format=json"],
        cwd=checkout,
        check=False,
        env=_environment(checkout),
        stdout=subprocess.PIPE,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


# --- Which test comes by which mutant -------------------------------------------------


def marked(text: str, mutants: Iterable[Mutant]) -> str:
    """Put a mark before each statement of Python that is to be changed.

    What is read once, with its file, is come by in each function of the file.
    """
    tree, lines = ast.parse(text), text.splitlines(keepends=True)
    before = defaultdict[int, list[int]](list)
    for each in mutants:
        for place in _statements(tree, each.line, lines):
            before[place].append(each.number)
    for place in sorted(before, reverse=True):
        line = lines[place - 1]
        indent = line[: len(line) - len(line.lstrip())]
        marks = "; ".join(f"_marks.marks[{number}] = 1" for number in before[place])
        lines.insert(place - 1, f"{indent}from planopt import _marks; {marks}\n")
    return "".join(lines)


def _statements(tree: ast.AST, line: int, lines: list[str]) -> list[int]:
    """Find where the innermost statement of a function begins that holds a line."""
    within, first = list[int](), set[int]()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            can_be_marked = [
                each
                for each in ast.walk(function)
                if isinstance(each, ast.stmt)
                and each is not function
                and not getattr(each, "decorator_list", ())
                and not lines[each.lineno - 1][: each.col_offset].strip()
                and not lines[each.lineno - 1].lstrip().startswith(("elif ", '"""'))
            ]
            begins = [each.lineno for each in can_be_marked]
            first |= {min(begins, default=0)} - {0}
            within += [
                each.lineno
                for each in can_be_marked
                if each.lineno <= line <= (each.end_lineno or 0)
            ]
    return [max(within)] if within else sorted(first)


def core_comes_by(checkout: Path, programs: dict[str, str], marks: Path) -> list[Any]:
    """Run each test of the core without a mutant, and tell what it comes by."""
    folder = checkout / "rust" / "planopt-core"
    environment = {**_environment(checkout), "PLANOPT_MARKS": str(marks)}
    tests = []
    for suite, program in programs.items():
        listing = subprocess.run(
            [program, "--list", "--format=terse"],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        )
        for name in re.findall(r"^(.*): test$", listing.stdout, re.MULTILINE):
            marks.write_bytes(bytes(MARKS_BYTES))
            since = _children_seconds()
            done = subprocess.run(
                [program, "--exact", name],
                cwd=folder,
                env=environment,
                check=False,
                stdout=subprocess.DEVNULL,
            )
            found = [at for at, mark in enumerate(marks.read_bytes()) if mark]
            if not done.returncode:
                seconds = _children_seconds() - since
                tests.append([suite, name, seconds, found])
    return tests


def python_comes_by(checkout: Path, suite: str, marks: Path) -> list[Any]:
    """Run a folder of tests of Python likewise."""
    marks.write_bytes(bytes(MARKS_BYTES))
    lines = marks.with_suffix(".lines")
    lines.write_text("", encoding="utf-8")
    environment = _environment(checkout)
    environment["PYTHONPATH"] += f":{marks.parent}"
    environment |= {"PYTEST_PLUGINS": "came_by", "PLANOPT_MARKS": str(marks)}
    environment["PLANOPT_CAME_BY"] = str(lines)
    clocks = " and ".join(f"not {each}" for each in BY_A_CLOCK)
    command = [*PYTEST, "-m", "not slow", "-k", clocks, f"tests/{suite}"]
    done = subprocess.run(command, cwd=checkout, env=environment, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"the tests did not end without a mutant: {done.returncode}")
    return [json.loads(line) for line in lines.read_text("utf-8").splitlines()]


def _children_seconds() -> float:
    return sum(os.times()[2:4])


# --- Whether anybody notices ----------------------------------------------------------

PYTEST: Final = (
    *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
    # A test that waits too long ends all of them, and a busy machine makes it wait.
    *("-o", "timeout=0", "-o", "faulthandler_timeout=0"),
)


def _environment(checkout: Path) -> dict[str, str]:
    return {
        "CARGO_TARGET_DIR": str(checkout.parent / "target"),
        **os.environ,
        "CARGO_INCREMENTAL": "1",
        "CARGO_MANIFEST_DIR": str(checkout / "rust" / "planopt-core"),
        "PYTHONPATH": f"{checkout / 'python'}:{checkout / 'studies'}",
        # A changed file may be as long and as old, in seconds, as the one before.
        "PYTHONDONTWRITEBYTECODE": "1",
        "PROPTEST_RNG_SEED": "1",
        "CI": "true",
    }


class Trials:
    """A checkout with mutants, its programs, and what its tests come by."""

    def __init__(
        self, whole: Path, folder: Path, seed: int, count: int, suites: Sequence[str]
    ) -> None:
        self.folder, self.suites = folder, suites
        self.checkout = folder / "checkout"
        if not self.checkout.exists():
            clone = ["git", "clone", "--quiet", str(whole), str(self.checkout)]
            subprocess.run(clone, check=True)
        restored(self.checkout, "python")

        def draw() -> list[dict[str, Any]]:
            return [asdict(each) for each in drawn(self.checkout, seed, count)]

        self.mutants = [Mutant(**each) for each in self._kept("mutants", draw)]
        self.before = {
            each.file: (self.checkout / each.file).read_text("utf-8")
            for each in self.mutants
            if not each.of_core
        }
        of_core = [each for each in self.mutants if each.of_core]
        became, self.programs = self._kept(
            "built", lambda: put_behind_switches(self.checkout, of_core)
        )
        self.became = {int(number): each for number, each in became.items()}
        self.tests = [Test(*each) for each in self._come_by()]

    def _kept(self, name: str, made: Callable[[], Any]) -> Any:
        file = self.folder / f"{name.replace('/', '-')}.json"
        if not file.exists():
            file.write_text(json.dumps(made()), encoding="utf-8")
        return json.loads(file.read_text(encoding="utf-8"))

    def _come_by(self) -> Iterator[Any]:
        """Ask all tests once, with Python that is marked."""
        marks = self.folder / "marks"
        (self.folder / "came_by.py").write_text(PLUGIN, encoding="utf-8")
        package = self.checkout / "python" / "planopt"
        (package / "_marks.py").write_text(MARKS, encoding="utf-8")
        for name, text in self.before.items():
            of = [each for each in self.mutants if each.file == name]
            (self.checkout / name).write_text(marked(text, of), encoding="utf-8")

        try:
            asks = partial(core_comes_by, self.checkout, self.programs, marks)
            yield from self._kept("core", asks)
            for suite in self.suites:
                asks = partial(python_comes_by, self.checkout, suite, marks)
                yield from self._kept(suite, asks)
        finally:
            for name, text in self.before.items():
                (self.checkout / name).write_text(text, encoding="utf-8")

    def near(self, mutant: Mutant, most_seconds: float) -> Iterator[list[Test]]:
        """Give tests that come by a mutant: of its room first, quick ones of each."""
        near = [each for each in self.tests if mutant.number in each.came_by]
        files = {each.file for each in near if each.suite == "pytest"}
        names = {each.name for each in near}
        # What is kept between tests is come by only by the first who asks for it.
        beside = [
            each for each in self.tests if each.file in files and each.name not in names
        ]
        of_room = [each for each in near if mutant.words & words(each.name)]
        others = [each for each in near if not mutant.words & words(each.name)]
        suites = (*self.programs, "pytest")
        asked = 0.0
        for tests in (of_room, others, beside):
            for suite in suites:
                of = [each for each in tests if each.suite == suite]
                batch, most = list[Test](), FIRST_SECONDS
                for each in sorted(of, key=lambda test: test.seconds):
                    if asked + each.seconds > most_seconds:
                        break
                    asked += each.seconds
                    batch.append(each)
                    if sum(each.seconds for each in batch) > most:
                        yield batch
                        batch, most = [], 2 * most
                if batch:
                    yield batch

    def tried(self, mutant: Mutant, most_seconds: float) -> Tried:
        """Turn a mutant on, and ask tests that come by it until one fails."""
        since, asked = _children_seconds(), 0

        def ended(outcome: str, by: str = "") -> Tried:
            seconds = round(_children_seconds() - since, 1)
            told = (mutant.number, mutant.file, mutant.line, mutant.what)
            return Tried(*told, outcome, by, seconds)

        if (became := self.became.get(mutant.number, "switched")) != "switched":
            return ended(became)
        for batch in self.near(mutant, most_seconds):
            if by := self.noticed(mutant, batch):
                return ended("killed", by)
            asked += len(batch)
        return ended("survived" if asked else "not come by", f"{asked} tests")

    def noticed(self, mutant: Mutant, batch: Sequence[Test]) -> str:
        """Tell which test of a batch fails with a mutant, and passes without it."""
        left = list(batch)
        while left and (by := self.fails(mutant, left)):
            known = [each for each in left if each.name == by] or left
            if not self.fails(None, known):
                return by
            left = [each for each in left if each not in known]
        return ""

    def fails(self, mutant: Mutant | None, batch: Sequence[Test]) -> str:
        """Ask tests of one program; name the first that fails."""
        names = sorted(each.name for each in batch)
        if batch[0].suite == "pytest":
            folder, command = self.checkout, [*PYTEST, "-x", *names]
        else:
            folder = self.checkout / "rust" / "planopt-core"
            command = [self.programs[batch[0].suite], "--exact", *names]
        most = STARTS_SECONDS + int(TIMES_AS_LONG * sum(test.seconds for test in batch))

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
            resource.setrlimit(resource.RLIMIT_CPU, (most, most))

        environment = _environment(self.checkout)
        if mutant and mutant.of_core:
            environment["PLANOPT_MUTANT"] = str(mutant.number)
        elif mutant:
            (self.checkout / mutant.file).write_text(mutant.text, encoding="utf-8")
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            preexec_fn=limited,
        )
        try:
            told, _ = process.communicate(timeout=WAITS_SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if mutant and not mutant.of_core:
                file = self.checkout / mutant.file
                file.write_text(self.before[mutant.file], encoding="utf-8")
        if not process.returncode:
            return ""
        named = re.search(
            r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$|^test (\S+) .*\.\.\. FAILED",
            told,
            re.M,
        )
        return (named[1] or named[2]) if named else f"ends {process.returncode}"


def interval(killed: int, of: int) -> str:
    """Say which share that is, and between which it lies (Wilson, 95 %)."""
    z, share = 1.96, killed / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of)
    half *= math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return f"{share:.0%} ({middle - half:.0%} to {middle + half:.0%})"


def main() -> None:
    """Try a share of the mutants of a seed, and list who survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=MUTANTS)
    parser.add_argument("--shard", default="1/1", help="which share of how many")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="folders of tests")
    parser.add_argument("--most", type=float, default=MOST_SECONDS, help="of a mutant")
    parser.add_argument("--folder", type=Path, default=Path("target/mutants"))
    asked = parser.parse_args()
    share, shares = map(int, asked.shard.split("/"))
    commit = ["git", "rev-parse", "--short", "HEAD"]
    head = subprocess.run(commit, check=True, capture_output=True, text=True).stdout
    folder = asked.folder.resolve() / f"{head.strip()}-{asked.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    trials = Trials(Path.cwd(), folder, asked.seed, asked.count, asked.tests)
    kept = folder / "tried.jsonl"
    known = {each.number for each in results(kept)}
    for mutant in trials.mutants[share - 1 :: shares]:
        if mutant.number not in known:
            became = trials.tried(mutant, asked.most)
            with kept.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(became)) + "\n")
            print(*asdict(became).values(), flush=True)
    counts = Counter(each.outcome for each in results(kept))
    print(f"{counts.total()} of {asked.count} mutants of {folder.name}: {dict(counts)}")
    alive = [each for each in results(kept) if each.outcome in ALIVE]
    print(interval(counts["killed"], counts["killed"] + len(alive)))
    for each in alive:
        print(f"{each.outcome}: {each.file}:{each.line}: {each.what} ({each.by})")


def results(kept: Path) -> list[Tried]:
    """Read what became of those that were tried."""
    if not kept.exists():
        return []
    lines = kept.read_text(encoding="utf-8").splitlines()
    return [Tried(**json.loads(line)) for line in lines]


if __name__ == "__main__":
    main()
