"""A question may name things as people do; the answer names them by their ids."""

import pytest

import planopt
from planopt.catalog.devices import accelerator_called, nearest_accelerator
from planopt.catalog.open import open_catalog


@pytest.mark.parametrize("model", ["Qwen/Qwen3-8B", "qwen3 8b", "qwen3-8b"])
@pytest.mark.parametrize("card", ["RTX 5090", "NVIDIA GeForce RTX 5090"])
def test_a_plan_is_the_same_by_any_name(model: str, card: str) -> None:
    plan = planopt.solve(model=model, accelerators=[card], target="20tok/s")
    assert plan.request.model == "qwen3-8b"
    assert plan.bill_of_materials[0].id == "rtx-5090"


def test_one_accelerator_has_many_names() -> None:
    with pytest.raises(
        planopt.InputError, match="rtx-5090 both asked for and excluded"
    ):
        planopt.solve(accelerators="RTX 5090,L40S", exclude="rtx5090", target="9tok/s")


def test_shares_of_a_run_may_be_named_as_people_do() -> None:
    named, by_id = (
        planopt.evaluate_training(
            model="Llama 3.1 8B", accelerators=shares, tp=1, pp=2, dp=4, global_batch=64
        )
        for shares in ("H100:4,A100 80GB SXM:4", "h100-sxm:4,a100-sxm-80:4")
    )
    assert named == by_id


def test_prices_and_stock_are_of_what_people_name() -> None:
    named, by_id = (
        planopt.solve(
            model="llama-3.1-8b",
            target="20tok/s",
            accelerators=[card],
            prices={card: 1234.0},
            stock=f"{card}=8",
        )
        for card in ("RTX 4090", "rtx-4090")
    )
    assert named.request.prices == by_id.request.prices == {"rtx-4090": 1234.0}
    assert named.request.stock == {"rtx-4090": 8}
    assert named.bill_of_materials == by_id.bill_of_materials


@pytest.mark.parametrize(
    ("name", "gib", "id_"),
    [
        ("NVIDIA H200", 140.4, "h200-sxm"),  # as seen on one, driver 580
        ("NVIDIA H100 80GB HBM3", 79.6, "h100-sxm"),
        ("NVIDIA B300 SXM6 AC", 268.6, "b300"),
        ("NVIDIA GH200 480GB", 95.6, "gh200-96"),
        ("Tesla V100-SXM2-16GB", 16.0, "v100-sxm2-16"),
        ("NVIDIA GeForce RTX 4060 Ti", 16.0, "rtx-4060-ti-16"),
        (
            "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
            95.6,
            "rtx-pro-6000-blackwell",
        ),
        ("NVIDIA GeForce RTX 4060 Ti", 8.0, None),
    ],
)
def test_devices_are_known_by_what_drivers_call_them(
    name: str, gib: float, id_: str | None
) -> None:
    assert accelerator_called(open_catalog(), name, gib * 2**30) == id_


def test_a_device_that_is_unknown_has_a_nearest() -> None:
    assert nearest_accelerator(open_catalog(), "NVIDIA GeForce RTX 5091") == "rtx-5090"
