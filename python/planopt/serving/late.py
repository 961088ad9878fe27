"""Latencies that nothing keeps: which, and by how much they are missed at best."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planopt.serving.question import Question

__all__ = ["fastest_speed", "late", "shortest_wait"]


def late(question: Question) -> str | None:
    """Say which percentile is too long wherever the model fits, and by how much."""
    problem, nearest = question.problem, question.found.nearest
    ttft = shortest_wait(question)
    speed = fastest_speed(question)
    apart = ttft is None and speed is None
    if apart:
        # Each is met, and not both: how close one comes where the other is.
        ttft, speed = (
            nearest.get("prefill_seconds"),
            nearest.get("tokens_per_second_per_user"),
        )
    said = []
    if ttft is not None and problem.ttft_seconds is not None:
        over = ttft / problem.ttft_seconds - 1
        said.append(
            f"{problem.percentile} TTFT fails: {ttft:.3g} s at best, "
            f"{over:.0%} over {problem.ttft_seconds:g} s"
        )
    if speed is not None and problem.target:
        over = problem.target / speed - 1
        said.append(
            f"{problem.percentile} TPOT fails: {1e3 / speed:.3g} ms at best, "
            f"{over:.0%} over {1e3 / problem.target:.3g} ms"
        )
    return (" where the other is met; " if apart else "; ").join(said) or None


def shortest_wait(question: Question) -> float | None:
    """Give the shortest time to the first token, if even that is too long."""
    if question.problem.ttft_seconds is None or question.without_target.found.units:
        return None
    return question.without_target.found.nearest.get("prefill_seconds")


def fastest_speed(question: Question) -> float | None:
    """Give the most tokens per second of a user, if even that is too few."""
    if not question.problem.target or question.without_ttft.found.units:
        return None
    return question.without_ttft.found.nearest.get("tokens_per_second_per_user")
