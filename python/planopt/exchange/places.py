"""Where servers run: manifests and tasks, made of templates with terms in braces."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal

import msgspec
from msgspec import Struct

from planopt.documents.plan import Plan
from planopt.errors import Diagnostic
from planopt.exchange.render import command, filled, nested, yaml
from planopt.exchange.say import Said, cannot
from planopt.exchange.terms import Role
from planopt.exchange.tool import TOOLS, Options, Tool, count_of

VENDOR = "NVIDIA"
"""Whose images and resources the templates name."""


class Place(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where servers run, of one version."""

    name: str
    version: str
    date: str
    source: str
    engines: tuple[str, ...]
    """Engines that it runs; the first where the plan names none of them."""
    files: dict[str, object]
    """Templates by the name of their file: a document, or a list of them."""
    files_over_hosts: dict[str, object] | None = None
    """The same for replicas of several hosts."""
    each: Literal["role", "copy"] = "role"
    escapes: dict[str, str] = {}
    rank: str = ""
    """What a script says first of its host."""
    images: dict[str, str] = {}
    without: tuple[str, ...] = ()
    """Flags that the place sets itself."""
    model: str | None = None
    """Flag of what an engine takes without one."""
    role: str | None = None
    accelerators: dict[str, str] = {}
    """What it calls them."""
    skus: Literal["needed", "optional"] = "optional"


@cache
def places() -> dict[str, Place]:
    """Return every place."""
    content = (TOOLS / "places.json").read_bytes()
    return msgspec.json.decode(content, type=dict[str, Place])


def problems(place: Place, role: Role) -> Iterator[Diagnostic]:
    """Say what of a role the place cannot do."""
    called = f"{place.name} {place.version}"
    if role.vendor not in (None, VENDOR):
        yield cannot(called, "accelerator", role.accelerator, f"those of {VENDOR}")
    if place.skus == "needed" and role.accelerator not in place.accelerators:
        known = ", ".join(sorted(place.accelerators))
        yield cannot(called, "accelerator", role.accelerator, known)
    if place.each == "copy" and role.terms["hosts"] != 1:
        yield cannot(called, "hosts", role.terms["hosts"], "replicas of one host")


def placed(
    plan: Plan, place: Place, of: Tool, roles: list[tuple[Role, Said]], set: str
) -> dict[str, object]:
    """Fill the templates of a place, by the names of their files."""
    made: dict[str, object] = {}
    service, first = 0, 0
    for role, said in roles:
        over = role.terms["hosts"] != 1 and place.files_over_hosts
        here = role.copies // role.units if place.each == "copy" else 1
        for copy in range(max(here, 1)):
            cards = count_of(role.terms, "accelerators_of_host")
            terms = {
                **_terms(plan, place, of, role, said),
                "set": set,
                "copy": copy,
                "devices": [str(first + card) for card in range(cards)],
                "outer_port": of.port + service,
                "all_cards": sum(
                    count_of(each.terms, "accelerators") * each.copies
                    for each, _ in roles
                ),
            }
            files = filled(over or place.files, terms)
            assert isinstance(files, dict)
            for name, document in files.items():
                made[name] = merged(made.get(name), document)
            service, first = service + 1, first + cards
    return made


def documents(document: object) -> str:
    """Write a file of one document or several."""
    several = document if isinstance(document, list) else [document]
    return "---\n".join(map(yaml, several))


def merged(one: object, other: object) -> object:
    """Put documents into one: objects by their keys, lists behind each other."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one | {key: merged(one.get(key), each) for key, each in other.items()}
    if isinstance(one, list) and isinstance(other, list):
        return [*one, *(each for each in other if each not in one)]
    return other


def _terms(plan: Plan, place: Place, of: Tool, role: Role, said: Said) -> Options:
    asked = plan.request
    cards, hosts = count_of(role.terms, "accelerators_of_host"), role.terms["hosts"]
    pool = role.terms["role"] if role.terms["role"] != "colocated" else None
    text = _script(place, of, role, said)
    for one, other in place.escapes.items():
        text = text.replace(one, other)
    rate, speed = asked.requests_per_second, asked.target_tokens_per_second
    return {
        "name": role.name,
        "slug": _slug(f"{role.name}-{role.model}"),
        "graph": _slug(role.model),
        "model": role.terms["model"],
        "engine": of.tool,
        "image": place.images.get(of.tool, of.image),
        "script": text,
        "args": _arguments(place, said, pool),
        "component": pool or "worker",
        "copies": role.copies,
        "hosts": hosts,
        "multinode": {"nodeCount": hosts} if hosts != 1 else None,
        "cards": cards,
        "cards_text": str(cards),
        "port": of.port,
        "sku": place.accelerators.get(role.accelerator),
        "prompt": asked.prompt_tokens,
        "output": asked.output_tokens,
        "users": None if rate is not None else asked.concurrency,
        "rate": rate,
        "ttft_ms": _milliseconds(asked.ttft_seconds),
        "itl_ms": _milliseconds(asked.ttft_seconds and speed and 1 / speed),
    }


def _milliseconds(seconds: float | None) -> float | None:
    return round(1000 * seconds, 3) if seconds else None


def _slug(text: str) -> str:
    """Name as DNS takes it."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-")


def _script(place: Place, of: Tool, role: Role, said: Said) -> str:
    several = role.terms["hosts"] != 1
    file = ""
    if said.file:
        file = f"cat > {role.name}.yaml <<'END'\n{yaml(nested(said.file))}END\n"
    extra = of.extra if several else ()
    words = [" ".join(of.start), *(each.quoted for each in said.command), *extra]
    return f"{place.rank if several else ''}{file}exec {command(words)}\n"


def _arguments(place: Place, said: Said, pool: object) -> list[str]:
    """Words of the command, without a shell."""
    words: list[str] = []
    for each in said.command:
        if each.flag in place.without:
            continue
        name = each.flag or place.model
        words += [*([name] if name else []), *each.words[bool(each.flag) :]]
    if place.role is not None and pool is not None and place.role not in words:
        words += [place.role, str(pool)]
    return words
