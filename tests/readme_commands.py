"""Print the command lines that README promises; write what pages show them print."""

from __future__ import annotations

import re
import sys
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


def write_output(text: str, page: Path) -> None:
    """Put what a command prints into the block of a page that shows it."""
    shown = page.read_text(encoding="utf-8")
    block = re.compile(r"^```text\n.*?^```", re.M | re.S)
    page.write_text(
        block.sub(lambda _: f"```text\n{text.rstrip()}\n```", shown, count=1),
        encoding="utf-8",
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write_output(sys.stdin.read(), Path(sys.argv[2]))
    else:
        print("\n".join(promised_commands()))
