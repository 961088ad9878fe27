"""Launch files of a plan: what it says, in the words of a tool."""

from collections.abc import Sequence

from msgspec import Struct

from planopt.documents.plan import Plan, PlanDocument, TrainingPlan
from planopt.errors import Diagnostic, InputError
from planopt.exchange.benchmark import load_script, load_steps
from planopt.exchange.places import Place, documents, placed, places, problems
from planopt.exchange.render import Written, comment, nested, one_line, script, yaml
from planopt.exchange.run_terms import training_role
from planopt.exchange.say import Said, say
from planopt.exchange.terms import Role, pool_roles, serving_roles
from planopt.exchange.tool import Terms, Tool, tool

SCHEMA = "planopt.export/1"
BENCHMARK, README = "benchmark.sh", "README.md"
CONFIGURATION = "configuration.json"
"""What is measured, for who reads the results."""


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
        beside = (BENCHMARK, README, CONFIGURATION)
        return [name for name in self.files if name not in beside]


def export(
    plan: PlanDocument, to: str, steps: Sequence[str] = load_steps(BENCHMARK)
) -> Export:
    """Write a plan in the words of a tool; what it cannot do is an error, E303.

    ``steps`` follow the launch.
    """
    place, of = places().get(to), server_of(plan, to)
    subject = of.subject
    if subject == "training" and isinstance(plan, TrainingPlan) and plan.deployments:
        return _trained(plan, of)
    if subject == "training" or not isinstance(plan, Plan) or not plan.deployments:
        raise InputError.of(
            "E301",
            f"the plan is not of {subject}, or buys nothing",
            field="--to",
            value=to,
        )
    if any(each.chain for each in plan.deployments):
        raise InputError.of(
            "E303",
            "no tool is told how to divide a model among cards that are not alike",
            field="--to",
            value=to,
            accepted="a plan of cards of one kind",
        )
    roles, pools = serving_roles(plan), pool_roles(plan)
    wrong, said = _said(of, place, roles)
    if wrong:
        raise InputError(dict.fromkeys(wrong))
    remarks = dict.fromkeys(each for _, one in said for each in one.remarks)
    wrong, paired = _said(of, place, pools)
    if wrong:
        remarks[f"its two pools are not written: {wrong[0].message}"] = None
        paired = []
    files: dict[str, str] = {}
    if place is None:
        for role, words in (*said, *paired):
            files |= _files(plan, role, words, of)
    else:
        # Copies of a deployment share a machine, and pools do; deployments do not.
        alone = [([each], f"-{each[0].name}") for each in said]
        apart = place.each == "copy" and len(said) > 1 and plan.transfer is None
        sets = alone if apart else [(said, "")]
        for some, name in (*sets, *([(paired, "-pools")] if paired else [])):
            for file, document in placed(plan, place, of, some, name).items():
                head = heading(plan, some[0][0], of, some[0][1].remarks)
                head[0] += f", in {place.name} {place.version}"
                files[file] = comment(head) + documents(document)
    files[BENCHMARK] = load_script(plan, roles[0], of)
    run = [role for role, _ in (*said, *paired)]
    files[README] = _readme(run, of, place, tuple(remarks), steps)
    return _export(to, place or of, files, tuple(remarks))


def _export(
    to: str, of: Tool | Place, files: dict[str, str], remarks: tuple[str, ...]
) -> Export:
    told = {"version": of.version, "date": of.date}
    return Export(tool=to, files=files, remarks=remarks, **told)


def server_of(plan: PlanDocument, to: str) -> Tool:
    """Read what runs: the tool itself, or what the plan has of those of a place."""
    place = places().get(to)
    if place is None:
        return tool(to)
    named = plan.request.engine_name if isinstance(plan, Plan) else None
    return tool(named if named in place.engines else place.engines[0])


def _trained(plan: TrainingPlan, of: Tool) -> Export:
    """Write a run of training."""
    role = training_role(plan)
    said = say(of, role.terms)
    if said.problems:
        raise InputError(said.problems)
    head = heading(plan, role, of, said.remarks)
    program = [Written(flag=each) for each in of.program]
    flags = (*said.launcher, *program, *said.command)
    files = {"train.sh": script(head, of.start, flags, of.extra)}
    files[README] = _readme([role], of, None, said.remarks)
    return _export(of.tool, of, files, said.remarks)


def _said(
    of: Tool, place: Place | None, roles: list[Role]
) -> tuple[list[Diagnostic], list[tuple[Role, Said]]]:
    """Say each role, and what is wrong with that."""
    said = [(role, say(of, {**role.terms, **_own(role, of)})) for role in roles]
    wrong = [each for _, one in said for each in one.problems]
    if place is not None:
        wrong += [each for role in roles for each in problems(place, role)]
    return wrong, said


def _own(role: Role, of: Tool) -> Terms:
    """Terms that hang on the tool: a cache that is cut into slots has few."""
    own: Terms = {"port": of.port, "file": f"{role.name}.yaml"}
    if any(flag.term == "context_of_slots" for flag in of.flags):
        own["sequences"] = role.terms["slots"]
    return own


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
        at, unit = (f" {said}" if said else "" for said in (each.percentile, each.unit))
        asked_for = f"promised: {each.name}{at} {each.asked:.4g}{unit}"
        told = "not known" if each.predicted is None else f"{each.predicted:.4g}"
        lines.append(f"{asked_for}, predicted {told}{unit}")
    lines += [f"note: {each}" for each in remarks]
    lines += [] if asked is None else [f"by `{asked}`"]
    return lines


def _readme(
    roles: list[Role],
    of: Tool,
    place: Place | None,
    remarks: tuple[str, ...],
    steps: Sequence[str] = (),
) -> str:
    where = "" if place is None else f", in {place.name} {place.version}"
    lines = [f"# {one_line(roles[0].model)} with {of.name} {of.version}{where}", ""]
    for role in roles:
        hosts = role.terms["hosts"]
        over = "" if hosts == 1 else f" on {hosts} hosts each (NODE_RANK, HEAD)"
        instead = "instead: " if role.name == "prefill" else ""
        what = f"`sh {role.name}.sh`" if place is None else role.name
        laid_out = f"{role.copies} x{over}: {role.layout} on {role.accelerator}"
        lines.append(f"- {instead}{what}, {laid_out}")
    if sum(role.copies for role in roles) > 1:
        lines.append("- a router in front of them, which sends requests evenly")
    lines += [f"- {each}" for each in steps]
    lines += ["", *(f"Note: {one_line(each)}." for each in remarks)]
    return "\n".join(lines).rstrip() + "\n"
