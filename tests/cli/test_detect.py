"""What tools of a machine print, as recorded, and what comes of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import planopt
from planopt.exchange.detect import (
    AMD,
    APPLE,
    NVIDIA,
    Card,
    card_of_system_profiler,
    cards_of_nvidia_smi,
    cards_of_rocm_smi,
    detect,
    memory_of_meminfo,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GIB = 2.0**30
TWO_3090 = """\
NVIDIA GeForce RTX 3090, 24576, 4, 16
NVIDIA GeForce RTX 3090, 24576, 4, 16
"""
ROCM = json.dumps(
    {
        "card0": {
            "Card Series": "AMD Radeon RX 7900 XTX",
            "Card Vendor": "Advanced Micro Devices, Inc. [AMD/ATI]",
            "VRAM Total Memory (B)": "25753026560",
            "VRAM Total Used Memory (B)": "27996160",
        },
        "system": {"Driver version": "6.8.5"},
    }
)
MAC = json.dumps(
    {
        "SPHardwareDataType": [
            {
                "chip_type": "Apple M3 Ultra",
                "machine_name": "Mac Studio",
                "physical_memory": "512 GB",
            }
        ]
    }
)
MEMINFO = "MemTotal:       65782132 kB\nMemFree:        12345678 kB\n"


def printing(
    texts: dict[tuple[str, ...], str],
) -> Callable[[tuple[str, ...]], str | None]:
    """Run tools that print so; the others are not there."""
    return lambda command: texts.get(command)


def test_cards_are_read_with_memory_and_link() -> None:
    card = Card("NVIDIA GeForce RTX 3090", 24 * GIB, "pcie4-x16")
    assert cards_of_nvidia_smi(TWO_3090) == [card, card]
    # A MIG part or a superchip tells no link, and some no memory.
    told = cards_of_nvidia_smi("NVIDIA GH200 480GB, [N/A], [N/A], [N/A]\n")
    assert told == [Card("NVIDIA GH200 480GB")]
    assert cards_of_rocm_smi(ROCM) == [Card("AMD Radeon RX 7900 XTX", 25753026560.0)]
    assert card_of_system_profiler(MAC) == Card("Apple M3 Ultra", 512 * GIB)
    assert memory_of_meminfo(MEMINFO) == 65782132 * 1024


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No devices were found\n",
        "{}",
        "[1]",
        "[" * 100_000,
        "\x00\udcff, 1, 2",
        '{"card0": 3}',
    ],
)
def test_whatever_a_tool_prints_nothing_crashes(text: str) -> None:
    assert cards_of_nvidia_smi(text) == []
    assert cards_of_rocm_smi(text) == []
    assert card_of_system_profiler(text) is None
    assert memory_of_meminfo(text) is None


def test_a_pc_becomes_an_overlay_that_runs_for_nothing(tmp_path: Path) -> None:
    found = detect(
        out=str(tmp_path), output_of=printing({NVIDIA: TWO_3090}), meminfo=MEMINFO
    )
    assert found.own == "2xrtx-3090,this-machine"
    assert [each.id for each in found.found] == ["rtx-3090"]
    assert {each.split()[0] for each in found.remarks} == {AMD[0], APPLE[0]}
    plan = planopt.solve(
        model="gpt-oss-20b",
        target="10tok/s",
        own=found.own,
        catalog=str(tmp_path),
        load="steady",
    )
    assert plan.price_usd == 0
    assert plan.deployments[0].hardware.host == "this-machine"


def test_a_mac_is_its_machine() -> None:
    found = detect(output_of=printing({APPLE: MAC}), meminfo="")
    assert found.own == "1xm3-ultra"


def test_a_card_that_is_unknown_is_told() -> None:
    text = "NVIDIA GeForce RTX 3095, 24576, 4, 16\n"
    found = detect(output_of=printing({NVIDIA: text}), meminfo="")
    (card,) = found.found
    assert (card.id, found.own) == (None, "")
    assert card.nearest is not None
    assert "rtx-3090" in card.nearest


def test_a_machine_without_tools_says_so() -> None:
    found = detect(output_of=printing({}), meminfo="")
    assert (found.found, found.own, len(found.remarks)) == ((), "", 3)
