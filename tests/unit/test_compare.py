"""Each plan of a comparison is told as a plan of its own."""

from typing import Any

import planopt


def test_a_compared_plan_has_what_lies_beside_it() -> None:
    question: dict[str, Any] = {"model": "llama-3.1-8b", "target": "5tok/s"}
    question["acquire"] = "both"
    (compared,) = planopt.compare(accelerators=["rtx-4090"], **question)
    alone = planopt.solve(accelerators=["rtx-4090"], **question)

    # The same accelerator, bought where it is rented or the other way round.
    assert len(alone.alternatives) == 1
    assert compared.alternatives == alone.alternatives
    assert compared.answers == alone.answers
