"""Launch files of a plan: what it says, in the words of a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from planopt.documents.plan import Plan
from planopt.errors import InputError
from planopt.exchange.render import (
    Written,
    comment,
    nested,
    one_line,
    script,
    yaml,
)
from planopt.exchange.say import say
from planopt.exchange.terms import pool_roles, serving_roles
from planopt.exchange.tool import tool

if TYPE_CHECKING:
    from planopt.documents.plan import PlanDocument
    from planopt.exchange.say import Said
    from planopt.exchange.terms import Role
    from planopt.exchange.tool import Terms, Tool

SCHEMA = "planopt.export/1"
BENCHMARK, README = "benchmark.sh", "README.md"


class Export(Struct, frozen=True, kw_only=True):
    """Files to launch a plan with."""

    schema: str = SCHEMA
    tool: str
    version: str
    date: str
    """When its words were read."""
    files: dict[str, str]
    """Texts by their names; what is started first comes first."""
    remarks: tuple[str, ...] = ()
    """What the tool is not told."""

    @property
    def launched(self) -> list[str]:
        """Names of what is launched, without what explains and measures it."""
        return [name for name in self.files if name not in (BENCHMARK, README)]


def export(plan: PlanDocument, to: str) -> Export:
    """Write a plan in the words of a tool; what it cannot do is an error, E303."""
    if not isinstance(plan, Plan) or not plan.deployments:
        raise InputError.of("E301", "the plan serves no model", field="plan")
    return _served(plan, tool(to))


def _served(plan: Plan, of: Tool) -> Export:
    roles, pools = serving_roles(plan), pool_roles(plan)
    said = {role.name: say(of, {**role.terms, **_own(role, of)}) for role in roles}
    if problems := [each for one in said.values() for each in one.problems]:
        raise InputError(dict.fromkeys(problems))
    remarks = dict.fromkeys(each for one in said.values() for each in one.remarks)
    paired = {role.name: say(of, {**role.terms, **_own(role, of)}) for role in pools}
    if cannot := [each for one in paired.values() for each in one.problems]:
        remarks[f"its two pools are not written: {cannot[0].message}"] = None
    else:
        roles, said = [*roles, *pools], said | paired
    files: dict[str, str] = {}
    for role in roles:
        files |= _files(plan, role, said[role.name], of)
    files[BENCHMARK] = _benchmark(plan, roles[0], of)
    files[README] = _readme(roles, of, tuple(remarks))
    return Export(
        tool=of.tool,
        version=of.version,
        date=of.date,
        files=files,
        remarks=tuple(remarks),
    )


def _own(role: Role, of: Tool) -> Terms:
    """Terms that hang on the tool."""
    return {"port": of.port, "file": f"{role.name}.yaml"}


def _files(plan: Plan, role: Role, said: Said, of: Tool) -> dict[str, str]:
    head = heading(plan, role, of, said.remarks)
    files = {}
    if said.file:
        files[f"{role.name}.yaml"] = comment(head) + yaml(nested(said.file))
    extra = of.extra if role.terms.get("hosts") != 1 else ()
    files[f"{role.name}.sh"] = script(head, of.start, said.command, extra)
    return files


def heading(
    plan: PlanDocument, role: Role, of: Tool, remarks: tuple[str, ...]
) -> list[str]:
    """Say what a file was made of."""
    asked = None if plan.provenance is None else plan.provenance.command
    gigabytes = [f"{name} {each / 1e9:.2f}" for name, each in role.memory.items()]
    lines = [
        f"{role.model} for {of.name} {of.version} (flags as of {of.date})",
        f"{role.copies} x {role.layout} on {role.accelerator}",
        f"GB of each accelerator: {', '.join(gigabytes)}",
    ]
    for each in plan.promises:
        at = f" {each.percentile}" if each.percentile else ""
        told = "not known" if each.predicted is None else f"{each.predicted:.4g}"
        unit = f" {each.unit}" if each.unit else ""
        lines.append(
            f"promised: {each.name}{at} {each.asked:.4g}{unit}, predicted {told}{unit}"
        )
    lines += [f"note: {each}" for each in remarks]
    lines += [] if asked is None else [f"by `{asked}`"]
    return lines


def _benchmark(plan: Plan, role: Role, of: Tool) -> str:
    """Write a load like the plan's: `vllm bench serve` talks to any such server."""
    asked = plan.request
    users = asked.users or role.terms["sequences"]
    words = {
        "--backend": "openai-chat" if of.tool != "vllm" else "vllm",
        "--model": role.terms["model"],
        "--dataset-name": "random",
        "--random-input-len": asked.prompt_tokens or 512,
        "--random-output-len": asked.output_tokens or 512,
        "--num-prompts": 10 * int(users or 1),
    }
    if asked.requests_per_second is not None:
        words |= {"--request-rate": asked.requests_per_second}
    else:
        words |= {"--max-concurrency": users}
    flags = [Written(flag=flag, value=value) for flag, value in words.items()]
    url = Written(flag="--base-url", shell=f'"${{URL:-http://127.0.0.1:{of.port}}}"')
    result = Written(flag="--save-result")
    head = ["the load of the plan; lengths are fixed where the plan spreads them"]
    return script(head, ("vllm", "bench", "serve"), [url, *flags, result])


def _readme(roles: list[Role], of: Tool, remarks: tuple[str, ...]) -> str:
    lines = [f"# {one_line(roles[0].model)} with {of.name} {of.version}", ""]
    for role in roles:
        hosts = role.terms["hosts"]
        where = "" if hosts == 1 else f" on {hosts} hosts each (NODE_RANK, HEAD)"
        instead = "instead: " if role.name == "prefill" else ""
        lines.append(
            f"- {instead}`sh {role.name}.sh`, {role.copies} x{where}: "
            f"{role.layout} on {role.accelerator}"
        )
    if sum(role.copies for role in roles) > 1:
        lines.append("- a router in front of them, which sends requests evenly")
    lines.append(f"- `sh {BENCHMARK}`, the load of the plan")
    lines += ["", *(f"Note: {one_line(each)}." for each in remarks)]
    return "\n".join(lines).rstrip() + "\n"
