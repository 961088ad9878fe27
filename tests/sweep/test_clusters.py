"""Sweeps of 10^9 candidates on real clusters, whose workers and drivers are killed."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from planopt.sweeps.parts import Parts
from planopt.sweeps.run import SweepResult, sweep

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

CANDIDATES = 1_002_792_960
STUDY = 'space = "gpt3-175b"\n'
WAIT_SECONDS = 240
STORE_BYTES = 100_000_000
"""Of Ray's object store: fronts of chunks are small."""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("study") / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def local(study: str, tmp_path_factory: pytest.TempPathFactory) -> SweepResult:
    result = sweep(study, out=str(tmp_path_factory.mktemp("local")))
    assert result.candidates == CANDIDATES
    return result


def rows_of(folder: str | Path) -> list[dict[str, Any]]:
    return list(Parts(Path(folder)).rows())


def wait_for(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not what():
        assert time.monotonic() < deadline, "it takes too long"
        time.sleep(0.05)


@contextmanager
def process(*arguments: str, **settings: Any) -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen(
        [sys.executable, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **settings,
    )
    try:
        yield started
    finally:
        started.kill()
        started.wait()


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers of one thread, each a process of its own."""
    told = tmp_path / "scheduler.json"
    scheduler = (
        "-m distributed.cli.dask_scheduler --host 127.0.0.1 --port 0 --no-dashboard "
        f"--scheduler-file {told}"
    )
    worker = (
        "-m distributed.cli.dask_worker --nthreads 1 --no-nanny --no-dashboard "
        f"--scheduler-file {told} --local-directory {tmp_path}"
    )
    with ExitStack() as stack:
        stack.enter_context(process(*scheduler.split()))
        wait_for(lambda: told.exists() and told.stat().st_size > 0)
        workers = [stack.enter_context(process(*worker.split())) for _ in range(2)]
        address = json.loads(told.read_text())["address"]
        yield address.replace("tcp://", "dask://"), workers


def driver(study: str, out: Path, on: str) -> list[str]:
    planopt = Path(sys.executable).with_name("planopt")
    return [str(planopt), "sweep", study, "--out", str(out), "--on", on]


def parts(folder: Path) -> int:
    return len(list(folder.glob("part-*.parquet")))


def test_dask_with_a_killed_worker_and_a_killed_driver(
    study: str,
    local: SweepResult,
    dask: tuple[str, list[subprocess.Popen[bytes]]],
    tmp_path: Path,
) -> None:
    address, workers = dask
    out = tmp_path / "out"
    with process(*driver(study, out, address)) as killed:
        wait_for(lambda: parts(out) >= 1)
        killed.send_signal(signal.SIGKILL)
    finished = parts(out)
    assert 1 <= finished < local.chunks

    with process(*driver(study, out, address)) as resumed:
        workers[0].send_signal(signal.SIGKILL)
        assert resumed.wait(WAIT_SECONDS) == 0
    same_as(local, out)


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A local Ray of two workers, in processes of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Sockets of Ray have room for short paths only.
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as folder:
        options = (
            f"-m ray.scripts.scripts start --head --block --port {port} --num-cpus 2 "
            f"--include-dashboard false --disable-usage-stats --temp-dir {folder} "
            f"--object-store-memory {STORE_BYTES}"
        )
        # Where /dev/shm is smaller still, such as in a container, a folder does.
        monkeypatch.setenv("RAY_OBJECT_STORE_ALLOW_SLOW_STORAGE", "1")
        # A token that lies in somebody's home is asked for by the head alone.
        monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
        with process(*options.split(), start_new_session=True) as head:
            monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
            wait_for(lambda: answers(port))
            try:
                yield "ray://auto"
            finally:
                head.terminate()
                with suppress(subprocess.TimeoutExpired):
                    head.wait(30)
                with suppress(ProcessLookupError):
                    os.killpg(head.pid, signal.SIGKILL)


def answers(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def test_ray_with_a_killed_worker(
    study: str, local: SweepResult, ray: str, tmp_path: Path
) -> None:
    import psutil

    out = tmp_path / "out"
    # Nothing of the working folder is run, by the workers either.
    (tmp_path / "planopt.py").write_text("raise SystemExit", encoding="utf-8")
    with process(*driver(study, out, ray), cwd=tmp_path) as running:
        wait_for(lambda: parts(out) >= 1)
        busy = [
            one
            for one in psutil.process_iter(["name", "cmdline"])
            if "ray::evaluate" in " ".join(one.info["cmdline"] or [])
        ]
        assert busy, "no worker to kill"
        busy[0].send_signal(signal.SIGKILL)
        assert running.wait(WAIT_SECONDS) == 0
    same_as(local, out)


def same_as(local: SweepResult, out: Path) -> None:
    """Nothing is lost, nothing is there twice, and every row is the same."""
    tallies = list(Parts(out).tallies())
    assert [tally.chunk for tally in tallies] == list(range(local.chunks))
    assert sum(tally.covered for tally in tallies) == CANDIDATES
    checksum = sum(int(tally.checksum, 16) for tally in tallies) % 2**64
    assert f"{checksum:016x}" == local.checksum
    assert rows_of(out) == rows_of(local.folder)
