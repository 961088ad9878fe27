"""Pages that show what a command prints: read, compared, and written anew.

``make pages`` writes them; tests/cli/test_pages.py compares.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from planopt.cli import main

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = (
    *("tutorial.md", "how-to/agents.md", "how-to/neighbours.md"),
    *("how-to/traffic.md", "how-to/fine-tuning.md", "how-to/own-hardware.md"),
)
"""Pages whose ``text`` blocks are what the console block before them prints."""
DATED = ("explanation/article.md",)
"""The same, of the day that they name: too long for the gate."""

BLOCK = re.compile(r"^```(console|text)\n(.*?)^```", re.M | re.S)
COLUMNS = "100"
"""Width of what is shown."""
PATIENCE = "90s"
"""A page shows what is found where nothing else runs: no clock cuts it short."""
CHAINS = {"--own", "--neighbours"}
"""Options of chains of people's machines, which have no clock."""
# What is not the same on every machine, nor at every load of it.
TIMES = re.compile(
    r"(?P<count>[\d,]+ candidates in) [\d.]+ s *| · ~?\$[\d,]+ at (?:50|95)%"
    r"|(?<=\)) · \d+ more$",
    re.M,
)


def files(folder: Path) -> None:
    """Put what the commands of pages read into a folder."""
    for each in (DOCS / "how-to").glob("*.csv"):
        shutil.copy(each, folder)


def commands(page: str) -> list[str]:
    """Lines of the console blocks of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = (block for kind, block in BLOCK.findall(text) if kind == "console")
    return [line for block in blocks for line in block.splitlines()]


def shown(page: str) -> dict[str, str]:
    """What a page says that a command prints, by the command before it."""
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = BLOCK.findall(text)
    pairs = pairwise(blocks)
    return {
        before.splitlines()[-1]: printed
        for (kind, before), (of, printed) in pairs
        if (kind, of) == ("console", "text")
    }


def timeless(printed: str) -> str:
    """Leave out of what is printed what a clock decides."""
    return TIMES.sub(lambda found: found["count"] or "", printed)


def run(command: str) -> str:
    """Run a command, which must succeed, and return what it prints."""
    name, *arguments = shlex.split(command)
    if name != "planopt":
        raise AssertionError(command)
    if arguments[0] in ("solve", "train") and CHAINS.isdisjoint(arguments):
        arguments += ["--time-limit", PATIENCE]
    printed, said = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(said):
        try:
            main(arguments)
        except SystemExit as left:
            if left.code:
                raise AssertionError(f"{command}\n{said.getvalue()}") from left
    return printed.getvalue()


def write(page: str) -> None:
    """Put what its commands print now into a page."""
    path = DOCS / page
    text = path.read_text(encoding="utf-8")
    for command in shown(page):
        printed = run(command)
        beginning = rf"{re.escape(command)}\n```\n\n```text\n"
        block = re.compile(rf"({beginning}).*?(^```)", re.M | re.S)
        found = block.search(text)
        if found is not None:
            text = text[: found.end(1)] + printed + text[found.start(2) :]
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    os.environ["COLUMNS"] = COLUMNS
    with TemporaryDirectory() as folder:
        files(Path(folder))
        os.chdir(folder)
        for each in sys.argv[1:] or (*PAGES, *DATED):
            write(each)
