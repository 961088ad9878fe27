"""What is served: the model, its formats, lengths of prompts and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt.documents.parts import Assumed
from planopt.serving.question_types import (
    OVERLAPS,
    Drafting,
    Lengths,
    ServedModel,
)

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog
    from planopt.options import Asked

__all__ = ["read_model", "read_served"]


def read_served(
    asked: Asked, catalog: Catalog, assumed: list[Assumed], *, image_tokens: int = 0
) -> ServedModel:
    """Read what is served; what is not given comes from the model and the workload.

    Prompts are longer by the tokens of their images.
    """
    lengths = _lengths(asked, catalog, assumed, image_tokens)
    model = read_model(asked, assumed)
    return ServedModel(
        model=model,
        kv_heads=asked.count("kv_heads"),
        weights=asked.text("weights"),
        kv=asked.text("kv"),
        lengths=lengths,
        overlap=asked.choice("overlap", OVERLAPS) or "none",
        drafting=_drafting(asked),
        engine_name=asked.text("engine"),
        engine=_engine(asked),
    )


def read_model(asked: Asked, assumed: list[Assumed]) -> str:
    """Read the model, and say so where it is the usual one."""
    model = asked.text("model") or ""
    if "model" not in asked.given:
        assumed.append(Assumed(name="model", value=model))
    return model


def _engine(asked: Asked) -> dict[str, Any]:
    given = {
        "policy": asked.word("policy"),
        "token_budget": asked.count("token_budget"),
        "max_sequences": asked.count("max_sequences"),
    }
    return {name: value for name, value in given.items() if value is not None}


def _drafting(asked: Asked) -> Drafting | None:
    """Read speculative decoding: how often a draft is accepted must be known."""
    draft = asked.text("draft")
    tokens = asked.count("draft_tokens")
    acceptance = asked.quantity("acceptance")
    if draft is None:
        for name in ("draft_tokens", "acceptance"):
            if name in asked.given:
                asked.problem(
                    "E005",
                    "nothing drafts",
                    option=name,
                    value=asked.given[name],
                    accepted="with --draft mtp, or --draft and a smaller model",
                )
        return None
    if acceptance is None:
        asked.problem(
            "E005",
            "how many drafted tokens are accepted?",
            option="acceptance",
            accepted="a share, as measured on your own texts; published: 85 to 90 % of "
            "the second token of DeepSeek-V3 (arXiv 2412.19437), 50 to 90 % for small "
            "models (arXiv 2211.17192)",
        )
        return None
    return Drafting(draft=draft, tokens=tokens or 1, acceptance=acceptance)


def _lengths(
    asked: Asked, catalog: Catalog, assumed: list[Assumed], image_tokens: int
) -> Lengths:
    """Read prompt, output and context; what is not given comes from the workload."""
    name = asked.text("workload") or ""
    usual = catalog.native.workload(name)
    cached = asked.count("context")
    prompt = asked.count("prompt")
    output = asked.count("output")
    if "workload" not in asked.given and None in (prompt, output) and cached is None:
        lengths = f"prompt {usual['prompt']} + output {usual['output']} tokens"
        assumed.append(Assumed(name="workload", value=f"{name}: {lengths}"))
    spread: dict[str, float | None] = {"prompt_cv": None, "output_cv": None}
    if prompt is None:
        prompt = min(usual["prompt"], cached or usual["prompt"])
        spread["prompt_cv"] = usual["prompt_cv"]
    if output is None:
        output = usual["output"]
        spread["output_cv"] = usual["output_cv"]
    prompt += image_tokens
    if cached is None:
        cached = prompt + output
        assumed.append(
            Assumed(
                name="context",
                value=f"{cached} tokens per user",
                why="prompt + output; never a model's maximum. Say --context N",
            )
        )
    elif prompt > cached:
        asked.problem(
            "E004",
            f"a prompt of {prompt} tokens does not fit a context of {cached}",
            option="prompt",
            value=prompt,
            accepted=f"at most {cached} tokens, or a longer --context",
        )
    return Lengths(
        workload=name, prompt=prompt, output=output, context=cached, **spread
    )
