"""Whether tests notice a changed formula: two hundred mutants, drawn by a seed.

Half are of the core, as cargo-mutants lists them, half of the Python beside it, by the
operators of Cosmic Ray. Each is put into a copy of the checkout and tried by the tests
of its room, nearest first, until one fails. What was tried is not tried again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import parso.python.tree  # noqa: F401 - before Cosmic Ray, which reads it half made
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MUTANTS: Final = 200
SEED: Final = 2026
LONGEST_SECONDS: Final = 3600.0
"""After which a mutant does not end, and is known by that."""
CORE: Final = "rust/planopt-core/src"
PURCHASES: Final = ("tests/unit/procurement", "tests/properties/test_procurement.py")
FLEETS: Final = (
    "tests/properties/test_fleet.py",
    "tests/properties/test_fleet_plans.py",
    "tests/cli/test_fleet.py",
)
PROMISES: Final = (
    "tests/unit/test_promises.py",
    "tests/unit/test_loads.py",
    "tests/unit/test_mean.py",
    "tests/unit/test_nearest.py",
    "tests/unit/test_pools.py",
    "tests/unit/test_redundancy.py",
    "tests/unit/test_alternatives.py",
    "tests/unit/test_network_value.py",
    "tests/unit/test_scenarios.py",
    "tests/unit/test_unlike.py",
)
RUNS: Final = ("tests/unit/test_train.py", "tests/unit/test_reproduce_training.py")
WHOLE: Final = ("tests/golden", "tests/differential", "tests/unit", "tests/cli")

ROOMS: Final[dict[str, tuple[str, ...]]] = {
    f"{CORE}/compute": (),
    f"{CORE}/memory": (),
    f"{CORE}/parallel": (),
    f"{CORE}/serving": (),
    f"{CORE}/training": (),
    f"{CORE}/transformer": (),
    f"{CORE}/search": (),
    f"{CORE}/bill": (),
    f"{CORE}/cost": (),
    f"{CORE}/load": (),
    "python/planopt/procurement": PURCHASES,
    "python/planopt/fleets": FLEETS,
    "python/planopt/planning": PROMISES,
    "python/planopt/serving": PROMISES,
    "python/planopt/training": RUNS,
}
"""Rooms of formulas, purchases, fleets and promises, with the tests nearest to them."""


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    file: str
    line: int
    what: str
    text: str
    """The whole file, changed."""

    @property
    def room(self) -> str:
        """Room that it is of."""
        return next(room for room in ROOMS if self.file.startswith(room + "/"))


@dataclass(frozen=True)
class Tried:
    """What became of a mutant."""

    number: int
    file: str
    line: int
    what: str
    outcome: str
    """`killed`, `survived`, or `no code` where it does not compile."""
    by: str
    seconds: float


# --- What is changed ------------------------------------------------------------------


def of_core(checkout: Path, count: int, draw: random.Random) -> Iterator[Mutant]:
    """Draw changes that cargo-mutants would make of the core."""
    globs = [f"--file={room}/**" for room in ROOMS if room.startswith(CORE)]
    command = ["cargo", "mutants", "--list", "--json", "--package=planopt-core", *globs]
    listed = json.loads(
        subprocess.run(command, cwd=checkout, check=True, capture_output=True).stdout
    )
    for each in draw.sample(listed, count):
        text = (checkout / each["file"]).read_text(encoding="utf-8")
        first, last = (_place(text, **each["span"][end]) for end in ("start", "end"))
        changed = text[:first] + each["replacement"] + text[last:]
        where = each["span"]["start"]["line"]
        yield Mutant(each["file"], where, each["name"].split(": ", 1)[1], changed)


def _place(text: str, line: int, column: int) -> int:
    lines = text.splitlines(keepends=True)
    return sum(map(len, lines[: line - 1])) + column - 1


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
    for place in draw.sample(sorted(places), count):
        changed, ((line, _), _) = place
        name, occurrence = draw.choice(places[place])
        before = (checkout / changed).read_text(encoding="utf-8")
        text = mutate_code(before, operators[name], occurrence)
        yield Mutant(changed, line, name.split("/")[1], text)


def drawn(checkout: Path, seed: int, count: int) -> list[Mutant]:
    """Draw so many mutants, of the core and of Python in turn."""
    draw = random.Random(seed)
    half = count // 2
    pairs = zip(
        of_core(checkout, half, draw), of_python(checkout, half, draw), strict=True
    )
    return [mutant for pair in pairs for mutant in pair]


# --- Whether anybody notices ----------------------------------------------------------


def commands(mutant: Mutant) -> Iterator[tuple[str, list[str]]]:
    """Give what tries a mutant, from the tests of its room to those of everything."""
    pytest = [sys.executable, "-m", "pytest", "--quiet", "-x", "-p", "no:cacheprovider"]
    if mutant.file.startswith(CORE):
        cargo = ["cargo", "test", "--quiet", "--package", "planopt-core"]
        yield "its room", [*cargo, "--lib"]
        yield "the core", [*cargo, "--tests"]
        yield "what builds it", ["cargo", "build", "--quiet", "--package", "planopt-py"]
    else:
        yield "its room", [*pytest, *ROOMS[mutant.room]]
    yield "Python", [*pytest, *WHOLE]


def fails(command: Sequence[str], copy: Path, limit: float) -> bool:
    """Run a command; one that does not end has failed."""
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(copy.parent / "target"),
        "PYTHONPATH": f"{copy / 'python'}:{copy / 'studies'}",
        "PROPTEST_RNG_SEED": "1",
        "CI": "true",
    }
    process = subprocess.Popen(
        command,
        cwd=copy,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(limit) != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def tried(number: int, mutant: Mutant, copy: Path, *, rooms_only: bool) -> Tried:
    """Put a mutant into the copy, try it, and take it out."""
    file = copy / mutant.file
    before = file.read_text(encoding="utf-8")
    since = time.monotonic()

    def ended(outcome: str, by: str = "") -> Tried:
        seconds = round(time.monotonic() - since, 1)
        return Tried(
            number, mutant.file, mutant.line, mutant.what, outcome, by, seconds
        )

    file.write_text(mutant.text, encoding="utf-8")
    try:
        if mutant.file.startswith(CORE):
            check = ["cargo", "check", "--quiet", "--package", "planopt-core"]
            if fails(check, copy, LONGEST_SECONDS):
                return ended("no code")
        for by, command in commands(mutant):
            if rooms_only and by == "Python":
                break
            if fails(command, copy, LONGEST_SECONDS):
                return ended("killed", by)
            if command[:2] == ["cargo", "build"]:
                built = copy.parent / "target" / "debug" / "lib_native.so"
                shutil.copy(built, copy / "python" / "planopt" / "_native.abi3.so")
        return ended("survived")
    finally:
        file.write_text(before, encoding="utf-8")


def copied(checkout: Path, folder: Path) -> Path:
    """Make the copy that mutants live in, with the compiled core that is installed."""
    copy = folder / "checkout"
    if not copy.exists():
        clone = ["git", "clone", "--quiet", str(checkout), str(copy)]
        subprocess.run(clone, check=True)
    native = checkout / "python" / "planopt" / "_native.abi3.so"
    shutil.copy(native, copy / "python" / "planopt")
    return copy


def main() -> None:
    """Try a share of the mutants of a seed, and list who survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=MUTANTS)
    parser.add_argument("--shard", default="1/20", help="which share of how many")
    parser.add_argument("--folder", type=Path, default=Path("target/mutants"))
    parser.add_argument("--rooms-only", action="store_true", help="no whole suites")
    asked = parser.parse_args()
    share, shares = map(int, asked.shard.split("/"))
    asked.folder.mkdir(parents=True, exist_ok=True)
    copy = copied(Path.cwd(), asked.folder.resolve())
    kept = asked.folder / f"{asked.seed}.jsonl"
    known = {}
    if kept.exists():
        with kept.open(encoding="utf-8") as lines:
            known = {each["number"]: Tried(**each) for each in map(json.loads, lines)}
    mutants = drawn(copy, asked.seed, asked.count)
    passed: set[str] = set()
    for number in range(share - 1, asked.count, shares):
        if number not in known:
            _, nearest = next(commands(mutants[number]))
            if str(nearest) not in passed and fails(nearest, copy, LONGEST_SECONDS):
                sys.exit(f"nothing is changed, and yet this fails: {' '.join(nearest)}")
            passed.add(str(nearest))
            known[number] = tried(
                number, mutants[number], copy, rooms_only=asked.rooms_only
            )
            with kept.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(known[number])) + "\n")
            print(*asdict(known[number]).values(), flush=True)
    counts = Counter(each.outcome for each in known.values())
    print(f"{len(known)} of {asked.count} mutants of seed {asked.seed}: {dict(counts)}")
    for each in known.values():
        if each.outcome == "survived":
            print(f"survived: {each.file}:{each.line}: {each.what}")


if __name__ == "__main__":
    main()
