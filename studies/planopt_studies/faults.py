"""Commands at random moments of bad luck: no fault of theirs, and nothing half-written.

A point is known by its number: it draws a command, what goes wrong, and when. What the
command says and leaves behind is judged; a sweep is begun again and must end as one
that nothing happened to.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

POINTS: Final = 200
LONGEST_SECONDS: Final = 120.0
"""Beyond which a command hangs, however busy the machine is."""
GONE_SECONDS: Final = 20.0
"""In which whatever a command started must have left after it."""
MARK: Final = "PLANOPT_FAULTS_POINT"
"""Set for what a point starts, by which its orphans are known."""
OLDER: Final = "what was there before"
DROP_CAPABILITY: Final = 24  # PR_CAPBSET_DROP of prctl(2)
OVER_MODES: Final = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: root writes what is not to be written."""

STEADY: Final = ("--load", "steady", "--time-limit", "60s")
SMALL: Final = ("--model", "llama-3.1-8b", "--accelerators", "rtx-4090,l40s")
SOLVE: Final = ("solve", *SMALL, "--target", "5tok/s", *STEADY)
RUN: Final = ("--model", "llama-3.1-8b", "--tokens", "1B", "--deadline", "10d")
STUDY: Final = """
about = "a few candidates"

[study]
chunk = 200
models = ["llama-2-7b", "llama-2-13b"]

[space]
kind = "training"
accelerators = ["a100-sxm-80", "h100-sxm"]
hosts = ["hgx-8"]
networks = ["infiniband-400g"]
tp = [1, 2]
sequence_parallel = [true]
micro_batch = [1, 4]
pipeline = [[1, 1], [2, 1]]
recompute = ["none", "full"]
dp = [8, 16]
shard = ["zero1", "zero3"]
rounds = 9
max_accelerators = 1024

[space.run]
model = "llama-2-13b"
accelerator = "h100-sxm"
seq_len = 4096
tokens = 1e12
"""

COMMANDS: Final[tuple[tuple[str, ...], ...]] = (
    (*SOLVE, "--out", "{out}.json"),
    (*SOLVE, "--json"),
    ("solve", *SMALL, "--request-rate", "1/s", "--ttft", "2s", "--out", "{out}.json"),
    ("train", *RUN, "--accelerators", "h100-sxm", "--out", "{out}.json"),
    ("compare", *SMALL, "--target", "5tok/s", *STEADY, "--json"),
    ("frontier", *SMALL, "--target", "5tok/s", "--out", "{out}.csv"),
    ("evaluate", "serving", *SMALL[:2], "--accelerator", "rtx-4090", "--json"),
    ("verify", "{plan}"),
    ("verify", "{plan}", "--json"),
    ("report", "{plan}", "--html", "{out}.html"),
    ("report", "{plan}", "--xlsx", "{out}.xlsx"),
    ("export", "{plan}", "--to", "vllm", "--out", "{out}"),
    ("diff", "{plan}", "{plan}"),
    ("reproduce",),
    ("sweep", "{study}", "--out", "{out}"),
    ("sweep", "{study}", "--out", "{out}", "--json"),
    ("catalog", "check"),
    ("explain", "--json"),
    ("fleet", "{fleet}", "--time-limit", "5s", "--out", "{out}.json"),
)


@dataclass
class Seen:
    """What became of a command."""

    code: int
    said: str
    wrong: list[str] = field(default_factory=list)


@dataclass
class Point:
    """A command, in a folder of its own, with what goes wrong."""

    number: int
    folder: Path
    draw: random.Random
    command: tuple[str, ...]
    fault: str

    def line(self) -> list[str]:
        """Give the arguments, with the files that they name."""
        names = {
            name: self.folder / file
            for name, file in (
                ("out", "out/answer"),
                ("plan", "plan.json"),
                ("study", "study.toml"),
                ("fleet", "fleet.toml"),
            )
        }
        command = (each.format(**names) for each in self.command)
        return [sys.executable, "-m", "planopt.cli", *command]

    @property
    def out(self) -> Path:
        """Folder that answers are written into."""
        return self.folder / "out"


# --- What goes wrong ------------------------------------------------------------------


def started(point: Point, **options: object) -> subprocess.Popen[bytes]:
    """Start the command; its orphans are known by what it is told."""
    environment = {**os.environ, MARK: str(point.folder)}
    chosen: dict[str, object] = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.PIPE,
        "env": environment,
        "cwd": point.folder,
        "start_new_session": True,
    }
    return subprocess.Popen(point.line(), **{**chosen, **options})  # type: ignore[call-overload,no-any-return]


def ended(process: subprocess.Popen[bytes]) -> Seen:
    """Wait for a command; one that hangs is killed, and is wrong."""
    try:
        said = process.communicate(timeout=LONGEST_SECONDS)[1] or b""
        return Seen(process.returncode, said.decode("utf-8", "replace"))
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Seen(-1, "", ["it does not end"])


def _limited(point: Point) -> Callable[[], None]:
    most = int(point.draw.choice((0, 1, 100, 4096, 20_000, 60_000)))

    def limit() -> None:
        # Of files alone: pipes and terminals are written to as before.
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return limit


def _of(signals: Sequence[int]) -> Callable[[Point], Seen]:
    def sent(point: Point) -> Seen:
        process = started(point)
        time.sleep(point.draw.uniform(0.0, 1.0) ** 2 * 4.0)
        for each in signals:
            with suppress(ProcessLookupError):
                os.kill(process.pid, each)
            time.sleep(point.draw.uniform(0.0, 0.2))
        return ended(process)

    return sent


def no_room(point: Point) -> Seen:
    """Let no file grow beyond some bytes: a disk that is full."""
    return ended(started(point, preexec_fn=_limited(point)))


def _ordinary() -> None:
    """Let modes of files hold for root, too; nobody else has anything to give up."""
    for capability in OVER_MODES:
        ctypes.CDLL(None).prctl(DROP_CAPABILITY, capability, 0, 0, 0)


def read_only(point: Point) -> Seen:
    """Let the folder of the answer be one that must not be written to."""
    point.out.chmod(0o555)
    try:
        return ended(started(point, preexec_fn=_ordinary))
    finally:
        point.out.chmod(0o755)


def full(point: Point) -> Seen:
    """Let standard output be full."""
    with open("/dev/full", "wb") as device:  # noqa: PTH123 - a device
        return ended(started(point, stdout=device))


def unread(point: Point) -> Seen:
    """Let whoever reads the answer be gone."""
    reader, writer = os.pipe()
    os.close(reader)
    process = started(point, stdout=writer)
    os.close(writer)
    return ended(process)


def closed(point: Point) -> Seen:
    """Start without a standard output."""
    return ended(started(point, preexec_fn=lambda: os.close(1)))


def childless(point: Point) -> Seen:
    """Kill the solver's process at random moments, twice at most."""
    process = started(point)
    for _ in range(point.draw.choice((1, 2))):
        time.sleep(point.draw.uniform(0.1, 1.5))
        with suppress(psutil.Error):
            for child in psutil.Process(process.pid).children():
                child.kill()
    return ended(process)


def spoiled(point: Point) -> Seen:
    """Change bytes of what is read, or of a part that an earlier sweep has left."""
    if point.command[0] == "sweep":
        ended(started(point))
        parts = sorted(each for each in point.out.rglob("*") if each.is_file())
    else:
        parts = [point.folder / "plan.json", point.folder / "fleet.toml"]
    for part in point.draw.sample(parts, min(len(parts), 2)):
        text = bytearray(part.read_bytes())
        where = point.draw.randrange(len(text) or 1)
        if point.draw.random() < 0.5:
            del text[where:]
        elif text:
            text[where] ^= 1 << point.draw.randrange(8)
        part.write_bytes(bytes(text))
    return ended(started(point))


FRONT: Final = "front.parquet"
NO_PLAN, WRONG_INPUT, INTERNAL, INTERRUPTED = 1, 2, 70, 130
FAULTS: Final[dict[str, tuple[Callable[[Point], Seen], set[int]]]] = {
    "disk full": (no_room, {0, WRONG_INPUT}),
    "read-only folder": (read_only, {0, WRONG_INPUT}),
    "stdout full": (full, {0, WRONG_INPUT}),
    "stdout unread": (unread, {0, WRONG_INPUT}),
    "stdout closed": (closed, {0, WRONG_INPUT}),
    # Python itself is not yet, or no more, there to answer.
    "SIGINT": (_of([signal.SIGINT]), {0, INTERRUPTED, -signal.SIGINT}),
    "SIGINT twice": (_of([signal.SIGINT] * 2), {0, INTERRUPTED, -signal.SIGINT}),
    "SIGTERM": (_of([signal.SIGTERM]), {0, INTERRUPTED, -signal.SIGTERM}),
    "SIGKILL": (_of([signal.SIGKILL]), {0, -signal.SIGKILL}),
    # Killed twice it says so: the memory of the machine may be at an end.
    "solver killed": (childless, {0, INTERNAL}),
    "file spoiled": (spoiled, {0, NO_PLAN, WRONG_INPUT}),
}


# --- What must hold -------------------------------------------------------------------


def orphans(point: Point) -> list[int]:
    """List processes of a point that are still there, when they had the time to go."""
    until = time.monotonic() + GONE_SECONDS
    while found := [*_marked(point)]:
        if time.monotonic() > until:
            break
        time.sleep(0.1)
    return found


def _marked(point: Point) -> Iterator[int]:
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            if process.environ().get(MARK) == str(point.folder):
                yield process.pid


def judge(point: Point, seen: Seen, codes: set[int]) -> None:
    """Hold what a command said and left behind against what must be so."""
    # Python says so where it is interrupted before it has come to any of ours.
    is_its_own = "KeyboardInterrupt" in seen.said and "planopt" not in seen.said
    if not is_its_own:
        if seen.code not in codes and not seen.wrong:
            seen.wrong.append(f"exit code {seen.code}")
        for word in ("Traceback", "panicked", "RuntimeWarning"):
            if word in seen.said:
                seen.wrong.append(f"{word} on stderr")
    if seen.code == WRONG_INPUT and "error[E" not in seen.said:
        seen.wrong.append("no code of a diagnostic")
    if left := orphans(point):
        seen.wrong.append(f"{len(left)} processes live on")
    for file in point.out.rglob("*"):
        if not file.is_file():
            continue
        if file.name.startswith(".planopt-"):
            if point.fault != "SIGKILL":  # Which nobody can clear up after.
                seen.wrong.append(f"{file.name} was left")
        elif not _whole(file):
            seen.wrong.append(f"{file.name} is half-written")


def _whole(file: Path) -> bool:
    text = file.read_bytes()
    if text == OLDER.encode():
        return True
    match file.suffix:
        case ".json":
            with suppress(ValueError):
                return bool(json.loads(text))
            return False
        case ".html":
            return text.rstrip().endswith(b"</html>")
        case ".csv":
            return text.endswith(b"\n")
        case ".xlsx" | ".parquet":
            return text[:4] in (b"PK\x03\x04", b"PAR1") and len(text) > 100
        case _:
            return bool(text)


def resumed(point: Point, whole: Path, seen: Seen) -> None:
    """Sweep again: what comes of it is what comes of a sweep that nothing befell."""
    again = ended(started(point))
    if again.code == WRONG_INPUT and point.fault == "file spoiled":
        return  # It says which part is none, and counts it not.
    if again.code:
        seen.wrong.append(f"begun again it ends with {again.code}: {again.said[:200]}")
    elif (point.out / "answer" / FRONT).read_bytes() != (whole / FRONT).read_bytes():
        seen.wrong.append("begun again it finds something else")


# --- The points -----------------------------------------------------------------------


def drawn(number: int, folder: Path) -> Point:
    """Draw the point of a number."""
    draw = random.Random(number)
    fault = draw.choice([*FAULTS])
    read = [each for each in COMMANDS if "{plan}" in each or "sweep" in each]
    solved = [each for each in COMMANDS if each[0] in ("solve", "compare", "fleet")]
    of = {"file spoiled": read, "solver killed": solved}
    command = draw.choice(of.get(fault, [*COMMANDS]))
    return Point(number, folder, draw, command, fault)


def befallen(number: int, prepared: Path) -> tuple[Point, Seen]:
    """Let a point happen, and judge it."""
    folder = Path(tempfile.mkdtemp(prefix="planopt-faults-"))
    folder.chmod(0o755)
    point = drawn(number, folder)
    try:
        for file in ("plan.json", "study.toml", "fleet.toml"):
            shutil.copy(prepared / file, folder)
        point.out.mkdir()
        named = [each for each in point.command if each.startswith("{out}.")]
        if named and point.draw.random() < 0.5:
            older = point.out / ("answer" + named[0].removeprefix("{out}"))
            older.write_text(OLDER, encoding="utf-8")
        befall, codes = FAULTS[point.fault]
        seen = befall(point)
        judge(point, seen, codes)
        if point.command[0] == "sweep":
            resumed(point, prepared / "whole", seen)
        return point, seen
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def prepare(folder: Path, fleet: Path) -> None:
    """Make what the commands read, and a sweep that nothing befalls."""
    (folder / "study.toml").write_text(STUDY, encoding="utf-8")
    shutil.copy(fleet, folder / "fleet.toml")
    planopt = [sys.executable, "-m", "planopt.cli"]
    plan, whole = str(folder / "plan.json"), str(folder / "whole")
    study = str(folder / "study.toml")
    for command in ([*SOLVE, "--out", plan], ["sweep", study, "--out", whole]):
        subprocess.run([*planopt, *command], check=True, capture_output=True)


def main() -> None:
    """Let so many points happen, and list those that something was wrong with."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument(
        "--fleet", type=Path, default=Path("tests/cli/fleet_small.toml")
    )
    asked = parser.parse_args()
    wrong, counts = 0, dict.fromkeys(FAULTS, 0)
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), asked.fleet)
        for number in range(asked.first, asked.first + asked.points):
            point, seen = befallen(number, Path(folder))
            counts[point.fault] += 1
            if seen.wrong:
                wrong += 1
                what = f"{point.fault}: planopt {' '.join(point.command)}"
                print(f"{number}: {what}: {'; '.join(seen.wrong)}", flush=True)
                print(f"    {seen.said[-600:]}", flush=True)
    told = ", ".join(f"{fault} {count}" for fault, count in counts.items())
    print(f"{asked.points} points ({told}): {wrong} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
