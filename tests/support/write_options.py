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
    "CompareTrainingOptions": "compare",
    "FrontierOptions": "frontier",
    "PerDollarOptions": "compare --per-dollar",
    "TrainIslandsOptions": "train --islands",
    "NeighboursOptions": "solve --neighbours",
}
"""Keywords of the API, by the command that takes the same options."""
SUBJECT = {"CompareTrainingOptions": "train"}
REQUIRED = {"CompareTrainingOptions": "tokens"}
OF_UNITS = ("SolveOptions", "FrontierOptions", "PerDollarOptions")
OF_RUNS = ("TrainOptions", "CompareTrainingOptions")
OF_ISLANDS = "TrainIslandsOptions"
OF_NEIGHBOURS = "NeighboursOptions"
OF_ONE = ("ServingOptions", "TrainingOptions")
GROUPS = {
    "OfAll": (*OF_UNITS, *OF_RUNS, *OF_ONE, OF_ISLANDS, OF_NEIGHBOURS, "FleetOptions"),
    "OfModels": (*OF_UNITS, *OF_RUNS, *OF_ONE, OF_ISLANDS, OF_NEIGHBOURS),
    "OfServing": (*OF_UNITS, "ServingOptions"),
    "OfUnits": OF_UNITS,
    "OfTraining": (*OF_RUNS, "TrainingOptions", OF_ISLANDS),
    "OfPurchases": ("SolveOptions", *OF_RUNS),
    "OfChoices": (*OF_UNITS, *OF_RUNS),
    "OfCandidates": (*OF_UNITS, *OF_RUNS, "TrainingOptions"),
    "OfConfigurations": OF_ONE,
}
"""Keywords that several of them take alike; those of any other few are in each."""
LINE = 88
WRITTEN = "Output"
"""The panel of what only the command line takes."""

NUMBER = "float | str | None"
NAMES = "str | Sequence[str] | None"
TYPE_OF = {
    "quantity": NUMBER,
    "count": NUMBER,
    "range": NUMBER,
    "money": NUMBER,
    "text": "str | None",
    "name": "str | None",
    "choice": "str | None",
    "file": "str | None",
    "names": NAMES,
    "choices": NAMES,
    "files": "str | PathLike[str] | Sequence[str]",
    "switch": "bool",
    "truth": "bool | str",
    "pairs": "Mapping[str, float | str] | Sequence[str] | str | None",
}

HEADER = """\
# Keywords of the API, by the functions that take them: made by `make options` of
# rust/planopt-core/src/options/options.toml.

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TypedDict

from typing_extensions import Required
"""


def types() -> str:
    """The types of keywords: what several functions take, and a class for each."""
    taken = {name: _keywords(name) for name in CLASSES}
    takers: dict[tuple[str, str], set[str]] = {}
    for name, keywords in taken.items():
        for keyword in keywords.items():
            takers.setdefault(keyword, set()).add(name)
    shared = {
        group: {
            keyword: kind
            for (keyword, kind), who in takers.items()
            if who == set(classes)
        }
        for group, classes in GROUPS.items()
    }
    texts = [_class(group, ["TypedDict"], shared[group]) for group in GROUPS]
    for name, keywords in taken.items():
        bases = [group for group, classes in GROUPS.items() if name in classes]
        own = {
            keyword: kind
            for keyword, kind in keywords.items()
            if not any(keyword in shared[group] for group in bases)
        }
        texts.append(_class(name, bases or ["TypedDict"], own))
    texts.append(_class("CompareOptions", ["SolveOptions"], {}))
    return HEADER + "".join(texts)


def _keywords(name: str) -> dict[str, str]:
    """The keywords of a function with their types."""
    command = CLASSES[name]
    keywords: dict[str, str] = {}
    for argument, option in taken_by(command).items():
        if option.panel == WRITTEN or argument in ("per_dollar", "space"):
            continue
        if name in SUBJECT and argument not in taken_by(SUBJECT[name]):
            continue
        kind = TYPE_OF[option.kind]
        if option.unnamed and option.kind == "pairs":
            kind = f"float | {kind}"
        if option.choices and all(map(str.isdigit, option.choices)):
            kind = f"int | {kind}"
        if REQUIRED.get(name) == argument:
            kind = f"Required[{kind.removesuffix(' | None')}]"
        keywords |= dict.fromkeys((argument, *option.endings), kind)
    return keywords


def _class(name: str, bases: list[str], keywords: dict[str, str]) -> str:
    arguments = [*bases, "total=False"]
    head = f"\nclass {name}({', '.join(arguments)}):"
    if len(head) > LINE:
        head = f"\nclass {name}(\n    {', '.join(arguments)}\n):"
    if max(map(len, head.splitlines())) > LINE:
        each = "".join(f"    {argument},\n" for argument in arguments)
        head = f"\nclass {name}(\n{each}):"
    if not keywords:
        return f"{head} ...\n"
    lines = [head]
    lines += [f"    {keyword}: {kind}" for keyword, kind in keywords.items()]
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
    taken += ", *`planopt.toml`*" if "planopt" in option.toml else ""
    cells = (f"`{option.flag}{value}`", meaning, taken)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    TYPES.write_text(types(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
