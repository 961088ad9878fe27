"""Writes what is made of the table of options: types of keywords, and a page.

``make options`` writes them; tests/unit/test_options.py compares them with the table.
"""

from __future__ import annotations

from pathlib import Path

from planopt.options import Option, table, taken_by

ROOT = Path(__file__).parents[2]
TYPES = ROOT / "python" / "planopt" / "option_types.pyi"
PAGE = ROOT / "docs" / "reference" / "options.md"

CLASSES = {
    "SolveOptions": "solve",
    "TrainOptions": "train",
    "FleetOptions": "fleet",
    "ServingOptions": "evaluate serving",
    "TrainingOptions": "evaluate training",
    "CompareOptions": "compare",
    "CompareTrainingOptions": "compare",
    "FrontierOptions": "frontier",
    "PerDollarOptions": "compare --per-dollar",
}
"""Keywords of the API, by the command that takes the same options."""
SUBJECT = {"CompareOptions": "solve", "CompareTrainingOptions": "train"}
REQUIRED = {"CompareTrainingOptions": "tokens"}
WRITTEN = "Output"
"""The panel of what only the command line takes."""

NUMBER = "float | str | None"
NAMES = "str | Sequence[str] | None"
TYPE_OF = {
    "quantity": NUMBER,
    "count": NUMBER,
    "money": NUMBER,
    "text": "str | None",
    "name": "str | None",
    "choice": "str | None",
    "file": "str | None",
    "names": NAMES,
    "choices": NAMES,
    "files": "Sequence[str]",
    "switch": "bool",
    "truth": "bool | str",
    "pairs": "Mapping[str, float | str] | Sequence[str] | str | None",
}

HEADER = """\
# Keywords of the API, by the functions that take them: made by `make options` of
# rust/planopt-core/src/request/options.toml.

from collections.abc import Mapping, Sequence
from typing import TypedDict

from typing_extensions import Required
"""


def types() -> str:
    """The types of keywords, a class for each function."""
    return HEADER + "".join(_class(name) for name in CLASSES)


def _class(name: str) -> str:
    lines = [f"\nclass {name}(TypedDict, total=False):"]
    panel = ""
    for argument, option in taken_by(CLASSES[name]).items():
        if option.panel == WRITTEN or option.argument in ("per_dollar", "space"):
            continue
        if name in SUBJECT and argument not in taken_by(SUBJECT[name]):
            continue
        if option.panel != panel:
            panel = option.panel
            lines.append(f"    # {panel}")
        kind = TYPE_OF[option.kind]
        if REQUIRED.get(name) == argument:
            kind = f"Required[{kind.removesuffix(' | None')}]"
        lines.append(f"    {argument}: {kind}")
    return "\n".join(lines) + "\n"


def page() -> str:
    """The reference page: every option by panel."""
    parts = [
        "# Options",
        "",
        "<!-- Made of the table of options by `make options`. -->",
        "",
        "Every option of every command. From Python, `--max-power` is `max_power`. "
        "A command that does not take an option refuses it, and says who does.",
    ]
    for panel in table().panels:
        parts += [
            "",
            f"## {panel}",
            "",
            "| option | meaning | taken by |",
            "|---|---|---|",
        ]
        parts += [_row(each) for each in table().options if each.panel == panel]
    elsewhere = {word: each for each in table().options for word in each.also}
    parts += [
        "",
        "## Words of other tools",
        "",
        "They are not taken; the message says which option is meant.",
        "",
        "| there | here |",
        "|---|---|",
        *(f"| `--{word}` | `{elsewhere[word].flag}` |" for word in sorted(elsewhere)),
    ]
    return "\n".join(parts) + "\n"


def _row(option: Option) -> str:
    value = f" {option.metavar}" if option.metavar else ""
    who: dict[str, list[str]] = {}
    for name in table().commands:
        if name in option.commands and option.commands[name].refuse is None:
            who.setdefault(option.taken(name).says, []).append(f"`{name}`")
    says = list(who)
    meaning = "<br>".join(
        each if len(says) == 1 else f"{', '.join(who[each])}: {each}" for each in says
    )
    taken = ", ".join(name for names in who.values() for name in names)
    cells = (f"`{option.flag}{value}`", meaning, taken)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    TYPES.write_text(types(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
