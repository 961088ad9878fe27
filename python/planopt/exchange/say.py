"""Terms in the words of a tool, or why the tool has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from planopt.errors import Diagnostic
from planopt.exchange.render import Written, filled
from planopt.exchange.tool import is_neutral

if TYPE_CHECKING:
    from planopt.exchange.tool import Flag, Terms, Tool

HELD = {
    "tp": "tensor parallel",
    "pp": "pipeline stages",
    "cp": "context parallel",
    "dp": "attention data parallel",
    "ep": "expert parallel",
    "overlap": "overlap of two batches",
    "hosts": "hosts of one replica",
    "role": "pools of prefill and decode",
    "offload": "layers that rest in the host",
    "kv": "format of the KV cache",
    "weights": "format of the weights",
    "draft_method": "speculative decoding",
    "lora_adapters": "adapters",
    "lora_rank": "adapters",
    "shape": "shape of the model",
    "id": "model",
    "vpp": "chunks of layers of a stage",
    "expert_tp_said": "tensor parallel of experts",
    "no_sequence_parallel": "activations that are not divided by sequence",
    "uneven": "layers that do not divide by stages",
    "zero": "what data-parallel ranks divide",
    "reshard": "what data-parallel ranks divide",
    "shard_group": "ranks that divide it",
    "recompute": "recomputation",
    "precision": "precision",
    "gradients": "format of gradients",
    "optimizer": "optimizer",
    "odd_schedule": "schedule of the pipeline",
    "mtp_modules": "multi-token prediction",
}
"""What is done as the plan says, or the plan is another one."""
TOLD = {
    "in_flight": "micro-batches in flight",
    "token_budget": "tokens of a step",
    "context": "longest context",
}
"""What may be left to the tool, and is told."""


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
        if any(terms.get(term) not in each for term, each in flag.only.items()):
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
    for term in HELD:
        if term not in said and not is_neutral(term, terms.get(term)):
            told = next((each for each in tool.flags if each.term == term), None)
            why = None if told is None else told.why
            problems.append(cannot(who, term, terms[term], None, why))
    remarks += [
        f"{tool.name} is not told of {name} ({terms[term]})"
        for term, name in TOLD.items()
        if term not in said and terms.get(term) is not None
    ]
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
    who: str, term: str, value: object, accepted: str | None, help: str | None = None
) -> Diagnostic:
    """Say that somebody has no word for what a term says."""
    return Diagnostic(
        code="E303",
        message=f"{who} cannot do what the plan says of {HELD.get(term, term)}",
        field=term,
        value=str(value),
        accepted=accepted,
        help=help or "export to another tool, or plan again without it",
    )
