"""What tokens cost from those who serve models: of this model, or of any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from planopt._native import parse_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from planopt.catalog.entries import Figure
    from planopt.catalog.open import Catalog
    from planopt.serving.question_types import Problem


def hosted_prices(catalog: Catalog, problem: Problem) -> dict[str, Any]:
    """Price a million output tokens with the prompts that they answer."""
    of_model: Mapping[str, Figure] = {}
    if problem.architecture is None:
        of_model = catalog.figures("models", problem.model)
    if "hosted.output" in of_model:
        read = problem.prompt_tokens / problem.output_tokens
        output, prompt = of_model["hosted.output"], of_model["hosted.input"]
        return {
            "hosted_usd_per_million_tokens": _usd(output) + read * _usd(prompt),
            "hosted_low_usd": _sum(output.low_usd, prompt.low_usd, read),
            "hosted_high_usd": _sum(output.high_usd, prompt.high_usd, read),
            "hosted_source": output.cite,
            "hosted_date": output.date,
        }
    cost = catalog.cost
    assumed = catalog.figures("assumptions", catalog.list("assumptions")[0].id)
    of_any = assumed.get("cost.hosted_million_tokens")
    return {
        "hosted_usd_per_million_tokens": cost.hosted_usd_per_million_tokens,
        "hosted_source": of_any and of_any.cite,
        "hosted_date": of_any and of_any.date,
    }


def _usd(figure: Figure) -> float:
    return parse_quantity(figure.text, "usd")


def _sum(output: float | None, prompt: float | None, read: float) -> float | None:
    """Add one end of both ranges, where both have it."""
    return None if output is None or prompt is None else output + read * prompt
