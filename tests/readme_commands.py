"""Print the command lines that README promises, exactly as it prints them."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def promised_commands() -> list[str]:
    """Return the lines of README's console blocks, in their order."""
    blocks = re.findall(
        r"^```console\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S
    )
    return [line for block in blocks for line in block.splitlines() if line]


def shown_output() -> str | None:
    """Return the block that README shows as the output of its first command."""
    text = README.read_text(encoding="utf-8")
    found = re.search(r"^```text\n(.*?)^```", text, re.M | re.S)
    return found.group(1) if found else None


if __name__ == "__main__":
    print("\n".join(promised_commands()))
