"""The load of a plan, in the words of the tools that make loads."""

from planopt.documents.plan import Plan
from planopt.exchange.render import command, comment
from planopt.exchange.say import say
from planopt.exchange.terms import Role
from planopt.exchange.tool import Terms, Tool, tool

MAKERS = ("vllm-bench", "guidellm", "aiperf")
"""What makes loads; the first unless another is asked for."""
RESULTS = "results"
"""Name of what a benchmark writes, without its ending."""
PERCENTILES = "50,90,95,99"
"""Those that promises are made of."""
USUAL_TOKENS = 512
"""Of prompts and answers where a plan does not say how long they are."""


def load_terms(
    plan: Plan, role: Role, of: Tool, users: int, requests: int, result: str = RESULTS
) -> Terms:
    """Say a load in terms: as many users, or requests at the rate of the plan."""
    asked = plan.request
    rate = asked.requests_per_second
    return {
        "port": of.port,
        "api": "completions",
        "texts": "random",
        "model": role.terms["model"],
        "prompt": asked.prompt_tokens or USUAL_TOKENS,
        "output": asked.output_tokens or USUAL_TOKENS,
        "requests": requests,
        "rate": rate,
        "users": None if rate is not None else users,
        "percentiles": PERCENTILES,
        "result": result,
    }


def load_command(maker: Tool, terms: Terms) -> str:
    """Write the command of a load."""
    flags = say(maker, terms).command
    return command([" ".join(maker.start), *(each.quoted for each in flags)])


def load_script(plan: Plan, role: Role, of: Tool) -> str:
    """Write a load like the plan's, by any of the tools."""
    users = int(plan.request.concurrency or role.terms["slots"] or 1)
    terms = load_terms(plan, role, of, users, 10 * users)
    head = ["the load of the plan; lengths are fixed where the plan spreads them"]
    cases = [
        f"{name})\n  exec {load_command(tool(name), terms)} ;;\n" for name in MAKERS
    ]
    start = f'#!/bin/sh\n{comment(head)}set -eu\ncase "${{BENCH:-{MAKERS[0]}}}" in\n'
    known = ", ".join(MAKERS)
    other = f'*)\n  echo "BENCH is one of {known}" >&2\n  exit 2 ;;\n'
    return f"{start}{''.join(cases)}{other}esac\n"


def load_steps(script: str) -> tuple[str, ...]:
    """Say what to do with the script, and with what it writes."""
    others = " or ".join(f"BENCH={name}" for name in MAKERS[1:])
    return (
        f"`sh {script}`, the load of the plan ({others}: by that tool)",
        f"`planopt accept plan.json {RESULTS}.json`: which promises are kept",
    )
