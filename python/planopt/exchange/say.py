"""Terms in the words of a tool, or why the tool has none."""

from msgspec import Struct

from planopt.errors import Diagnostic
from planopt.exchange.render import Written, filled
from planopt.exchange.tool import Flag, Terms, Tool, is_neutral, term


class Said(Struct, frozen=True, kw_only=True):
    """Terms in the words of a tool."""

    launcher: tuple[Written, ...]
    command: tuple[Written, ...]
    file: tuple[Written, ...]
    remarks: tuple[str, ...]
    problems: tuple[Diagnostic, ...]


def say(tool: Tool, terms: Terms) -> Said:
    """Say terms in the words of a tool."""
    who = f"{tool.name} {tool.version}"
    places: dict[str, list[Written]] = {"launcher": [], "command": [], "file": []}
    problems: list[Diagnostic] = []
    said: set[str] = set()
    for flag in tool.flags:
        value = terms.get(flag.term)
        if value is None or (is_neutral(flag.term, value) and not flag.always):
            continue
        if any(terms.get(name) not in each for name, each in flag.only.items()):
            continue
        said |= {flag.term, *flag.says}
        if flag.equals is not None and value != terms.get(flag.equals):
            only = f"{flag.equals} = {terms.get(flag.equals)}"
            problems.append(cannot(who, flag.term, value, only, flag.why))
        elif flag.values and str(value) not in flag.values:
            only = ", ".join(flag.values)
            problems.append(cannot(who, flag.term, value, only, flag.why))
        else:
            place = flag.place or ("file" if tool.shape == "yaml" else "command")
            places[place].append(_written(flag, terms))
    remarks = []
    if terms.get("weights") in tool.checkpoint:
        said.add("weights")
        remarks.append(f"the model has to be saved in {terms['weights']}")
    for name, value in terms.items():
        of = term(name)
        if name in said or is_neutral(name, value):
            continue
        if of.held:
            why = (each.why for each in tool.flags if each.term == name)
            problems.append(cannot(who, name, value, None, next(why, None)))
        elif of.told:
            remarks.append(f"{tool.name} is not told of {of.told} ({value})")
    return Said(
        launcher=tuple(places["launcher"]),
        command=tuple(places["command"]),
        file=tuple(places["file"]),
        remarks=tuple(remarks),
        problems=tuple(dict.fromkeys(problems)),
    )


def _written(flag: Flag, terms: Terms) -> Written:
    value = terms[flag.term]
    word = flag.values.get(str(value), value)
    if flag.write != "{value}":
        word = str(filled(flag.write, {**terms, "value": word}))
    shell = None if flag.shell is None else flag.shell.replace("{value}", str(value))
    return Written(
        flag=flag.flag,
        value=None if flag.switch else word,
        several=flag.several,
        shell=shell,
    )


def cannot(
    who: str, name: str, value: object, accepted: str | None, help: str | None = None
) -> Diagnostic:
    """Say that somebody has no word for what a term says."""
    return Diagnostic(
        code="E303",
        message=f"{who} cannot do what the plan says of {term(name).held or name}",
        field=name,
        value=str(value),
        accepted=accepted,
        help=help or "export to another tool, or plan again without it",
    )
