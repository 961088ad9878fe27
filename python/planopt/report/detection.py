"""What a machine has, on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planopt.report.numbers import size
from planopt.report.style import good, warn
from planopt.report.table import Report, Sentence

if TYPE_CHECKING:
    from planopt.documents.detection import Detection
    from planopt.report.table import Block


def render_detection(found: Detection) -> Report:
    """Say what was found, and what to type."""
    blocks: list[Block] = [Sentence(f"{found.processor}, {size(found.memory_bytes)}")]
    for each in found.found:
        known = good(each.id) if each.id else warn(f"unknown: {each.nearest or 'new'}")
        link = f", {each.link}" if each.link else ""
        blocks.append(f"  {each.count} x {each.name}{link}: {known}")
    if not found.found:
        blocks.append("  no accelerators were found")
    blocks += [Sentence(f"! {each}") for each in found.remarks]
    if found.own:
        beside = f" --catalog {found.overlay}" if found.overlay else ""
        blocks += ["", f"--own {found.own}{beside}"]
        if not found.overlay:
            blocks.append(
                Sentence("add its host, or --out DIR for one like this machine")
            )
    return Report(*blocks)
