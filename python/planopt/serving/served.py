"""What is served: the model, its formats, lengths of prompts and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from planopt.documents.parts import Assumed
from planopt.serving.question_types import (
    DEFAULT_MODEL,
    OVERLAPS,
    POLICIES,
    Drafting,
    Lengths,
    ServedModel,
)

if TYPE_CHECKING:
    from planopt.catalog.open import Catalog
    from planopt.options import OptionReader, TextOrNumber

__all__ = ["ServedOptions", "read_served"]

DEFAULT_WORKLOAD = "chat"


class ServedOptions(TypedDict, total=False):
    """Options of what is served, as they were given."""

    model: str | None
    kv_heads: TextOrNumber | None
    weights: str | None
    kv: str | None
    overlap: str | None
    workload: str | None
    prompt: TextOrNumber | None
    output: TextOrNumber | None
    context: TextOrNumber | None
    draft: str | None
    draft_tokens: TextOrNumber | None
    acceptance: TextOrNumber | None
    engine: str | None
    policy: str | None
    token_budget: TextOrNumber | None
    max_sequences: TextOrNumber | None


def read_served(
    reader: OptionReader,
    catalog: Catalog,
    assumed: list[Assumed],
    options: ServedOptions,
    *,
    image_tokens: int = 0,
) -> ServedModel:
    """Read what is served; what is not given comes from the model and the workload.

    Prompts are longer by the tokens of their images.
    """
    lengths = _lengths(reader, catalog, assumed, options, image_tokens)
    model = options.get("model")
    if model is None:
        assumed.append(Assumed(name="model", value=DEFAULT_MODEL))
    return ServedModel(
        model=DEFAULT_MODEL if model is None else model,
        kv_heads=reader.count("kv_heads", options.get("kv_heads")),
        weights=options.get("weights"),
        kv=options.get("kv"),
        lengths=lengths,
        overlap=reader.choice("overlap", options.get("overlap"), OVERLAPS) or "none",
        drafting=_drafting(reader, options),
        engine_name=options.get("engine"),
        engine=_engine(reader, options),
    )


def _engine(reader: OptionReader, options: ServedOptions) -> dict[str, Any]:
    given = {
        "policy": reader.choice("policy", options.get("policy"), POLICIES),
        "token_budget": reader.count("token_budget", options.get("token_budget")),
        "max_sequences": reader.count("max_sequences", options.get("max_sequences")),
    }
    return {name: value for name, value in given.items() if value is not None}


def _drafting(reader: OptionReader, options: ServedOptions) -> Drafting | None:
    """Read speculative decoding: how often a draft is accepted must be known."""
    draft = options.get("draft")
    tokens = reader.count("draft_tokens", options.get("draft_tokens"))
    acceptance = reader.quantity("acceptance", options.get("acceptance"), "share")
    if draft is None:
        for name, value in (("draft_tokens", tokens), ("acceptance", acceptance)):
            if value is not None:
                reader.problem(
                    "E005",
                    "nothing drafts",
                    option=name,
                    value=value,
                    accepted="with --draft mtp, or --draft and a smaller model",
                )
        return None
    if acceptance is None:
        reader.problem(
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
    reader: OptionReader,
    catalog: Catalog,
    assumed: list[Assumed],
    options: ServedOptions,
    image_tokens: int,
) -> Lengths:
    """Read prompt, output and context; what is not given comes from the workload."""
    workload = options.get("workload")
    name = DEFAULT_WORKLOAD if workload is None else workload
    usual = catalog.native.workload(name)
    cached = reader.count("context", options.get("context"))
    prompt = reader.count("prompt", options.get("prompt"))
    output = reader.count("output", options.get("output"))
    if workload is None and None in (prompt, output) and cached is None:
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
        reader.problem(
            "E004",
            f"a prompt of {prompt} tokens does not fit a context of {cached}",
            option="prompt",
            value=prompt,
            accepted=f"at most {cached} tokens, or a longer --context",
        )
    return Lengths(
        workload=name, prompt=prompt, output=output, context=cached, **spread
    )
