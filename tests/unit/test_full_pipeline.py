"""A full pipeline is asked of the plan's hardware, with all that was asked of it."""

import re

import planopt


def full_pipelines(plan: planopt.Plan) -> list[tuple[int, float]]:
    """Batch and tokens per second of each user, as sensitivities tell them."""
    told = [(each.change, each.result) for each in plan.sensitivity]
    return [
        (int(change.split("batch ")[1]), float(speed[1]))
        for change, result in told
        if change.startswith("in-flight = p")
        and (speed := re.search(r"([\d.]+) tok/s each", result))
    ]


def test_a_full_pipeline_reduces_over_the_pcie_that_was_asked_for() -> None:
    plan = planopt.solve(
        model="llama-3.1-405b",
        target="10tok/s",
        accelerators="rtx-4090",
        host="pcie-4gpu",
        in_flight=1,
        pcie_all_reduce="slow",
    )
    (deployment,) = plan.deployments
    told = full_pipelines(plan)
    assert told

    for batch, speed in told:
        evaluation = planopt.evaluate_serving(
            model="llama-3.1-405b",
            accelerator="rtx-4090",
            host=deployment.hardware.host,
            network=deployment.hardware.network,
            nics_per_host=deployment.hardware.nics_per_host,
            tp=deployment.candidate.tp,
            pp=deployment.candidate.pp,
            batch=batch,
            pcie_all_reduce="slow",
        )
        assert evaluation.decode.tokens_per_second_per_user is not None
        assert abs(evaluation.decode.tokens_per_second_per_user - speed) < 0.06


def test_a_full_pipeline_runs_on_the_instances_that_are_rented() -> None:
    plan = planopt.solve(
        model="llama-3.1-405b",
        target="3tok/s",
        procurement="rent",
        in_flight=1,
        accelerators="l4,a10g,t4,rtx-4090,a100-sxm-40",
    )
    (deployment,) = plan.deployments
    assert deployment.hardware.terms == "on-demand"
    assert [speed > 3 for _, speed in full_pipelines(plan)] == [True, True]
