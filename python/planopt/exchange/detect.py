"""What this machine has, read from what its own tools print."""

import csv
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from planopt.catalog.devices import accelerator_called, nearest_accelerator
from planopt.catalog.open import Catalog, open_catalog
from planopt.catalog.overlay import toml_document, write_overlay
from planopt.documents.exchange import Detection, Found
from planopt.machine import processor_name
from planopt.price_sources import today

HOST = "this-machine"
"""Id of the machine as a host in the overlay."""
_SECONDS = 20.0
"""A tool that takes longer waits for a driver that is not there."""
_BESIDE_WATTS = 120
"""Processor, board, memory and losses beside the accelerators."""
_USUAL_LINK = "pcie4-x16"


@dataclass(frozen=True)
class Card:
    """An accelerator as a tool names it."""

    name: str
    memory_bytes: float | None = None
    link: str | None = None
    """Id of the link that its slot has at most."""


def cards_of_nvidia_smi(text: str) -> list[Card]:
    """Read `--query-gpu=name,memory.total,pcie.link.gen.max,pcie.link.width.max`."""
    cards = []
    for row in csv.reader(text.splitlines(), skipinitialspace=True):
        if len(row) < _COLUMNS or not row[0].strip():
            continue
        name, memory, generation, width = (each.strip() for each in row[:_COLUMNS])
        known = generation.isdigit() and width.isdigit()
        size = float(memory) * 2.0**20 if memory.isdigit() else None
        cards.append(Card(name, size, f"pcie{generation}-x{width}" if known else None))
    return cards


_COLUMNS = 4


def cards_of_rocm_smi(text: str) -> list[Card]:
    """Read `--showproductname --showmeminfo vram --json`."""
    try:
        tables = msgspec.json.decode(text, type=dict[str, dict[str, str]])
    except (msgspec.DecodeError, ValueError, RecursionError):
        return []
    cards = []
    for key, card in sorted(tables.items()):
        named = {name.lower(): value for name, value in card.items()}
        name = named.get("card series") or named.get("card model")
        if key.startswith("card") and name:
            memory = named.get("vram total memory (b)", "")
            cards.append(Card(name, float(memory) if memory.isdigit() else None))
    return cards


def memory_of_meminfo(text: str) -> float | None:
    """Bytes that `/proc/meminfo` tells."""
    found = re.search(r"^MemTotal:\s+(\d+) kB", text, re.MULTILINE)
    return None if found is None else float(found[1]) * 1024


class _Mac(msgspec.Struct):
    chip_type: str
    physical_memory: str = ""


class _Profile(msgspec.Struct):
    SPHardwareDataType: list[_Mac]


def card_of_system_profiler(text: str) -> Card | None:
    """Read the chip and the memory of a Mac (`SPHardwareDataType -json`)."""
    try:
        (mac, *_) = msgspec.json.decode(text, type=_Profile).SPHardwareDataType
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    number = re.match(r"(\d+) GB", mac.physical_memory)
    return Card(mac.chip_type, float(number[1]) * 2**30 if number else None)


NVIDIA = (
    "nvidia-smi",
    "--query-gpu=name,memory.total,pcie.link.gen.max,pcie.link.width.max",
    "--format=csv,noheader,nounits",
)
AMD = ("rocm-smi", "--showproductname", "--showmeminfo", "vram", "--json")
APPLE = ("system_profiler", "SPHardwareDataType", "-json")


def run(command: tuple[str, ...]) -> str | None:
    """Return what a tool prints; nothing where it is not there, or fails."""
    path = shutil.which(command[0])
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, *command[1:]],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout


def read(path: str) -> str | None:
    """Return what a file of the system says, where there is one."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def detect(
    *,
    out: str | None = None,
    force: bool = False,
    output_of: Callable[[tuple[str, ...]], str | None] = run,
    meminfo: str | None = None,
) -> Detection:
    """Look at the cards, links and memory of this machine.

    ``out`` is a folder for an overlay catalog with the machine as a host. What tools
    print, and ``/proc/meminfo``, may be handed over in place of asking.
    """
    catalog = open_catalog()
    texts = {command: output_of(command) for command in (NVIDIA, AMD, APPLE)}
    cards = cards_of_nvidia_smi(texts[NVIDIA] or "")
    cards += cards_of_rocm_smi(texts[AMD] or "")
    mac = card_of_system_profiler(texts[APPLE] or "")
    remarks = [
        f"{command[0]} is not there, or fails: it is not asked for accelerators"
        for command, text in texts.items()
        if text is None
    ]
    found = [_found(catalog, card, number) for card, number in Counter(cards).items()]
    if mac is not None:
        found.append(_found(catalog, mac, 1))
    known = [each for each in found if each.id is not None]
    hosts = [] if mac is not None or not cards else [HOST]
    own = [f"{each.count}x{each.id}" for each in known] + hosts
    memory = memory_of_meminfo(meminfo or read("/proc/meminfo") or "")
    overlay = None
    if out is not None and hosts:
        text = _host(catalog, cards, known, memory)
        write_overlay(Path(out), {f"hosts/{HOST}.toml": text}, force=force)
        overlay = out
    return Detection(
        processor=processor_name(),
        memory_bytes=memory,
        found=tuple(found),
        own=",".join(own if overlay else own[: len(known)]),
        overlay=overlay,
        remarks=tuple(remarks),
    )


def _found(catalog: Catalog, card: Card, number: int) -> Found:
    """Find a card in the catalog; one that is unknown is told with its nearest."""
    id_ = accelerator_called(catalog, card.name, card.memory_bytes)
    nearest = None if id_ else nearest_accelerator(catalog, card.name)
    return Found(name=card.name, count=number, id=id_, link=card.link, nearest=nearest)


def _host(
    catalog: Catalog, cards: list[Card], known: Iterable[Found], memory: float | None
) -> str:
    """Describe the machine as a host that is there, and has no price."""
    forms = {
        catalog.text("accelerators", each.id, "form_factor") or "pcie"
        for each in known
        if each.id is not None
    }
    links = {entry.id for entry in catalog.list("links")}
    slots = [card.link for card in cards if card.link in links]
    figures = {"power": f"{_BESIDE_WATTS} W", "rack_units": 0}
    if memory is not None:
        figures["memory"] = f"{memory / 1e9:.0f} GB"
    cite = "planopt detect; power beside the accelerators as of a desktop"
    date = today().isoformat()
    return toml_document(
        {
            "id": HOST,
            "name": f"This machine, {processor_name()}",
            "form_factors": sorted(forms or {"pcie"}),
            "slots": len(cards),
            "whole": False,
            "link": min(slots, default=_USUAL_LINK),
            "nics": 1,
            **{
                name: {"value": of, "source": "machine"} for name, of in figures.items()
            },
            "sources": {"machine": {"cite": cite, "date": date, "status": "assumed"}},
        }
    )
