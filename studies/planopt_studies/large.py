"""Questions of the largest sizes: what each takes, and whether it ends when it must.

Five thousand accelerators, ten thousand offers, two hundred models in a fleet, a run of
a hundred thousand cards; made of the catalog's own entries, with prices and speeds
drawn by a seed. A question too large says so; none may pass its time limit by a tenth.
"""

from __future__ import annotations

import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from planopt.catalog.open import bundled_folder
from planopt_studies.overlays import RANGE

if TYPE_CHECKING:
    from collections.abc import Iterator

ACCELERATORS: Final = 5_000
OFFERS: Final = 10_000
MODELS: Final = 200
DEVICES: Final = 100_000
PROVIDERS: Final = 10
SEED: Final = 1
CARDS: Final = (
    "rtx-3090",
    "rtx-4090",
    "rtx-5090",
    "l40s",
    "h100-sxm",
    "b200",
    "mi300x",
)
RENTED: Final = ("l40s", "a100-sxm-80", "h100-sxm", "h200-sxm", "b200")
MEBIBYTE: Final = 2**20
PEAK_EVERY_SECONDS: Final = 0.02

FLEET: Final = """
[horizon]
periods = 1
budget = "$2000M"

[[region]]
name = "us"

[[curve]]
name = "flat"
weekday = [1{hours}]
weekend = [1{hours}]

[[class]]
name = "answers"
target = "15 tok/s"
ttft = "3 s"

[[buy]]
accelerator = "h100-sxm"
host = "hgx-8"

[[buy]]
accelerator = "l40s"
host = "pcie-8gpu"
"""
WORKLOAD: Final = """
[[workload]]
name = "w{number}"
model = "{model}"
class = "answers"
growth = 0.0
curve = "flat"
[[workload.size]]
name = "short"
share = 1.0
prompt = 1024
output = 256
[[workload.demand]]
region = "us"
requests = "{rate}/s"
"""


def accelerators(folder: Path, draw: random.Random) -> None:
    """Write an overlay of many cards that each differ from one of the catalog's."""
    written = folder / "accelerators"
    written.mkdir(parents=True)
    texts = [
        (bundled_folder() / written.name / f"{card}.toml").read_text() for card in CARDS
    ]
    for number in range(ACCELERATORS):
        text = texts[number % len(CARDS)]
        text = re.sub(r'^id = ".*"', f'id = "card-{number}"', text, flags=re.M)
        text = re.sub(r'^name = ".*"', f'name = "Card {number}"', text, flags=re.M)
        text = re.sub(r"^aliases = .*\n", "", text, flags=re.M)
        text = RANGE.sub("", text)
        for field in ("price", "memory_bandwidth"):
            text = _scaled(text, field, draw.uniform(0.5, 2.0))
        (written / f"card-{number}.toml").write_text(text)


def _scaled(text: str, field: str, times: float) -> str:
    def scaled(found: re.Match[str]) -> str:
        return f"{found[1]}{float(found[2]) * times:.2f}"

    return re.sub(rf'(^{field} = {{ value = "\$?)([\d.]+)', scaled, text, flags=re.M)


def offers(folder: Path, draw: random.Random) -> None:
    """Write an overlay of providers with many offers each."""
    written = folder / "offers"
    written.mkdir(parents=True)
    for provider in range(PROVIDERS):
        rows = [
            f'id = "provider-{provider}"\nname = "Provider {provider}"\n'
            'class = { value = "cloud", source = "made-up" }\n\n'
            '[sources.made-up]\ncite = "drawn"\ndate = "2026-11"\nstatus = "assumed"\n'
        ]
        for number in range(OFFERS // PROVIDERS):
            count = draw.choice((1, 2, 4, 8))
            price = count * draw.uniform(0.5, 6.0)
            rows.append(
                f'[[offer]]\ninstance = "box-{number}"\n'
                f'accelerator = "{draw.choice(RENTED)}"\ncount = {count}\n'
                f'region = "r{draw.randrange(20)}"\nvcpus = 64\nmemory = "1024 GB"\n'
                f'price = {{ value = "${price:.2f}/h", source = "made-up" }}\n'
            )
        (written / f"provider-{provider}.toml").write_text("\n".join(rows))


def fleet(folder: Path, draw: random.Random) -> Path:
    """Write a fleet of many models, each a copy of one of the catalog."""
    written = folder / "models"
    written.mkdir(parents=True)
    text = (bundled_folder() / written.name / "llama-3.1-8b.toml").read_text()
    told = [FLEET.format(hours=", 1" * 23)]
    for number in range(MODELS):
        model = re.sub(r'^id = ".*"', f'id = "model-{number}"', text, flags=re.M)
        model = re.sub(r'^name = ".*"', f'name = "Model {number}"', model, flags=re.M)
        model = re.sub(r"^aliases = .*\n", "", model, flags=re.M)
        (written / f"model-{number}.toml").write_text(model)
        rate = draw.randint(1, 50)
        told.append(WORKLOAD.format(number=number, model=f"model-{number}", rate=rate))
    file = folder / "fleet.toml"
    file.write_text("".join(told))
    return file


def questions(folder: Path) -> Iterator[tuple[str, str]]:
    """Give what is asked, by what is large of it."""
    draw = random.Random(SEED)
    many = folder / "cards"
    accelerators(many, draw)
    asked = f"solve --target 5tok/s --budget 20000 --catalog {many}"
    yield f"{ACCELERATORS:,} accelerators", asked
    yield f"{ACCELERATORS:,} accelerators, steady", f"{asked} --load steady"
    rented = folder / "offers"
    offers(rented, draw)
    asked = f"solve --target 20tok/s --procurement rent --catalog {rented}"
    yield f"{OFFERS:,} offers", asked
    yield f"{OFFERS:,} offers, steady", f"{asked} --load steady"
    models = folder / "fleet"
    file = fleet(models, draw)
    yield f"{MODELS} models in a fleet", f"fleet {file} --catalog {models}"
    run = (
        "--model llama-3.1-405b --tokens 15T --global-batch 4096 --seq-len 8192 "
        "--accelerators h100-sxm --network infiniband-400g"
    )
    yield (
        f"a run of {DEVICES:,} cards at most",
        f"train {run} --max-accelerators {DEVICES} --deadline 45d",
    )
    yield (
        f"steady service of {DEVICES:,} cards at most",
        "solve --model llama-3.1-70b --accelerators h100-sxm --load steady "
        f"--concurrency 2000000 --target 20tok/s --max-accelerators {DEVICES}",
    )


def _peak(number: int, held: list[float]) -> None:
    """Add what was held until the process is gone."""
    with suppress(psutil.Error):
        process = psutil.Process(number)
        while process.status() != psutil.STATUS_ZOMBIE:
            for each in (process, *process.children(recursive=True)):
                with suppress(psutil.Error):
                    held.append(each.memory_info().rss / MEBIBYTE)
            time.sleep(PEAK_EVERY_SECONDS)


def asked(command: str, folder: Path) -> str:
    """Ask one question; give its row of the table."""
    out = folder / "answer.txt"
    since, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with out.open("wb") as told:
        process = subprocess.Popen(
            [sys.executable, "-m", "planopt.cli", *command.split()],
            stdout=told,
            stderr=subprocess.STDOUT,
        )
        held = [0.0]
        watcher = threading.Thread(target=_peak, args=(process.pid, held))
        watcher.start()
        watcher.join()
        code = process.wait()
    first = next(iter(out.read_text("utf-8", "replace").splitlines()), "")
    wall, after = time.monotonic() - since, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = sum(after[:2]) - sum(before[:2])
    return f"{code} | {wall:.1f} | {cpu:.1f} | {max(held):,.0f} | {first.strip()[:60]}"


def main() -> None:
    """Ask every question, and print a table."""
    print(
        "| what is large | exit code | s | CPU s | peak MiB of a process | first line |"
    )
    print("|---|---:|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as name:
        for what, command in questions(Path(name)):
            print(f"| {what} | {asked(command, Path(name))} |", flush=True)


if __name__ == "__main__":
    main()
