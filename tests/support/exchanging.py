"""Plans of a layout, and what tools take: for the tests of what goes in and out."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from msgspec.structs import replace

import planopt
from planopt.documents.evaluation import Deployment, Disaggregated, Pool, Transfer
from planopt.documents.facts import Fact, Facts
from planopt.documents.plan import Plan, Request
from planopt.exchange.tool import tool

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from planopt.documents.evaluation import EvaluationDocument

CATALOGS = Path(__file__).parents[2] / "catalogs"
CASES: dict[str, dict[str, object]] = {
    "dense": {
        "model": "llama-3.1-70b",
        "accelerator": "h100-sxm",
        "tp": 4,
        "batch": 16,
    },
    "experts": {
        "model": "qwen3-235b-a22b",
        "accelerator": "h200-sxm",
        "tp": 2,
        "dp_attention": 4,
        "ep": 8,
        "batch": 64,
        "kv": "fp8",
    },
    "pipeline": {
        "model": "llama-3.1-70b",
        "accelerator": "h100-sxm",
        "tp": 2,
        "pp": 2,
        "batch": 8,
    },
    "one card": {
        "model": "llama-3.1-8b",
        "accelerator": "l40s",
        "batch": 4,
        "kv": "fp16",
    },
}
CONTEXT = 4096


def evaluated(**options: object) -> EvaluationDocument:
    return planopt.evaluate_serving(**{"max_model_len": CONTEXT, **options})  # type: ignore[arg-type]


def facts_of(options: Mapping[str, object]) -> Facts:
    named = (("models", "model"), ("accelerators", "accelerator"))
    files = [(kind, f"{options[option]}") for kind, option in named]
    return Facts(
        entries={
            f"{kind}/{name}": Fact.of(
                tomllib.loads((CATALOGS / kind / f"{name}.toml").read_text("utf-8"))
            )
            for kind, name in files
        }
    )


def plan_of(**options: object) -> Plan:
    """A plan of one deployment, as if it had been found."""
    found = evaluated(**options)
    assert found.model is not None
    return Plan(
        status="feasible",
        request=Request(
            model=str(options["model"]),
            context_tokens=found.context_tokens,
            prompt_tokens=512,
            output_tokens=512,
            concurrency=8,
        ),
        deployments=(
            Deployment(
                model=str(options["model"]),
                candidate=found.candidate,
                hardware=found.hardware,
                evaluation=found,
                replicas=found.replicas,
            ),
        ),
        facts=facts_of(options),
    )


def with_pools(plan: Plan, **decode: object) -> Plan:
    """The same plan with two pools beside it."""
    one, other = plan.deployments[0], evaluated(**decode)
    pools = Disaggregated(
        prefill=Pool(candidate=one.candidate, host="", evaluation=one.evaluation),
        decode=Pool(candidate=other.candidate, host="", evaluation=other),
        transfer=Transfer(),
    )
    return replace(plan, disaggregated=pools)


def words_of(text: str) -> list[str]:
    """Arguments of a script's one command."""
    line = text.replace("\\\n", " ").splitlines()[-1]
    return shlex.split(line.partition("exec ")[2].partition("$([")[0])


def keys_of(
    document: Mapping[str, object], before: str = ""
) -> Iterator[tuple[str, object]]:
    """Dotted keys of a document and what stands at them."""
    for key, value in document.items():
        if isinstance(value, dict):
            yield from keys_of(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def unknown(name: str, files: Mapping[str, str]) -> list[str]:
    """Flags and values of files that the release of a tool does not take."""
    listed, wrong = tool(name).listed.flags, []
    said: list[tuple[str, object]] = []
    for file, text in files.items():
        if file.endswith(".yaml"):
            said += keys_of(yaml.safe_load(text))
        elif file.endswith(".sh") and file != "benchmark.sh":
            words = words_of(text)[len(tool(name).start) :]
            said += [
                (word, following)
                for word, following in zip(words, [*words[1:], ""], strict=True)
                if word.startswith("-")
            ]
    for flag, value in said:
        takes = listed.get(flag)
        if takes is None:
            wrong.append(flag)
        elif takes.choices and str(value) not in takes.choices:
            wrong.append(f"{flag} {value}")
    return wrong
