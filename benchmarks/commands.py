"""Wall time and peak memory of the commands that people wait for.

    python benchmarks/commands.py [--repeat 9]

Peak memory is that of all processes of a command together: the high-water marks of each
added up, an upper bound of what they hold at one time. Linux only.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path

COMMANDS = (
    "--help",
    "solve --target 5tok/s --budget 20000",
    "solve --target 5tok/s",
    "solve --budget 3000 --target 5tok/s --model llama-3.1-405b",
    "compare --accelerators rtx-4090,a100-sxm-80,h100-sxm --target 5tok/s",
    "reproduce",
    "train --model llama-2-70b --tokens 2T --deadline 30d",
)
SAMPLE_SECONDS = 0.002
KIB_PER_MIB = 1024


def measure(command: str) -> tuple[float, float]:
    """Run a command of planopt: seconds and MiB."""
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "planopt.cli", *shlex.split(command)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    peaks: dict[int, int] = {}
    while process.poll() is None:
        for pid in (process.pid, *_children(process.pid)):
            peaks[pid] = max(peaks.get(pid, 0), _peak_kib(pid))
        time.sleep(SAMPLE_SECONDS)
    return time.perf_counter() - started, sum(peaks.values()) / KIB_PER_MIB


def _children(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return []
    return [int(child) for child in text.split()]


def _peak_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    marks = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(next(marks, "0"))


def main() -> None:
    """Print a table: median and worst wall time, and peak memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=9)
    repeat = parser.parse_args().repeat
    print("| command | median s | worst s | peak MiB |")
    print("|---|---:|---:|---:|")
    for command in COMMANDS:
        runs = [measure(command) for _ in range(repeat)]
        seconds = [run[0] for run in runs]
        memory = max(run[1] for run in runs)
        print(
            f"| `planopt {command}` | {statistics.median(seconds):.2f} "
            f"| {max(seconds):.2f} | {memory:.0f} |"
        )


if __name__ == "__main__":
    main()
