"""Writes docs/reference/diagnostics.md from the texts of ``planopt explain``.

``make pages`` writes it; tests/unit/test_explain.py compares.
"""

from __future__ import annotations

from pathlib import Path

from planopt.explain import explanations

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "diagnostics.md"
GROUPS = {
    "E0": "Options",
    "E1": "Files",
    "E2": "No plan",
    "E3": "Saved plans, launches and results",
    "E9": "Faults",
    "W0": "Warnings",
}
"""By the beginnings of codes."""


def page() -> str:
    """Return the page."""
    lines = [
        "# Diagnostics",
        "",
        "Every message has a code, and `planopt explain CODE` says this of it.",
    ]
    group = ""
    for each in explanations():
        heading = GROUPS[each.code[:2]]
        if heading != group:
            group = heading
            lines += ["", f"## {heading}"]
        lines += [
            *("", f"### {each.code}: {each.title}", "", each.meaning, ""),
            *("```sh", each.example, "```", "", f"Fix: {each.fix}"),
        ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
