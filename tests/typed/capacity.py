"""A script that plans capacity: mypy --strict and pyright take it."""

from __future__ import annotations

import planopt


def cheapest(rate: float) -> planopt.Plan:
    """Plan for so many requests per second."""
    return planopt.solve(
        "meta-llama/Llama-3.1-8B-Instruct",
        request_rate=rate,
        ttft="2s",
        target="20tok/s",
        accelerators=["l40s", "rtx-4090"],
        prices={"rtx-4090": 2200},
        discount={"nvidia": 0.05},
        on_progress=print,
    ).raise_if_infeasible()


def main() -> None:
    """Buy for a growing load until the money is spent."""
    for rate in (1.0, 4.0):
        plan = cheapest(rate)
        price: float | None = plan.price_usd
        lines = {line.id: line.quantity for line in plan.bill_of_materials}
        evaluation = plan.deployments[0].evaluation
        speed: float | None = evaluation.decode.tokens_per_second_per_user
        print(planopt.__version__, rate, price, lines, speed)
        if not planopt.verify(plan):
            raise SystemExit(1)
    names: list[str] = [card.id for card in planopt.accelerators()]
    print(len(names), len(planopt.models()))


if __name__ == "__main__":
    try:
        main()
    except planopt.Interrupted as stop:
        print(stop.plan)
    except planopt.Infeasible as none:
        print(none.diagnostics)
