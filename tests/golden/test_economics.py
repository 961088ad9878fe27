"""The seed's economics, from the same functions that plan for anybody else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import planopt

if TYPE_CHECKING:
    from pathlib import Path

MILLION = 1e6
HOURS_PER_DAY = 24
DAYS_PER_MONTH = 365 / 12

SERVED: dict[str, Any] = {
    "model": "article-70b",
    "tp": 8,
    "overlap": "two-batch",
    "context": 128,
    "assumptions": "article",
}


@pytest.mark.parametrize(
    ("accelerator", "host", "batch", "usd_per_hour", "low", "high"),
    [
        # The article rounds $2.56 an hour to 2.5, and has 17.6M tokens a dollar.
        ("rtx-4090", "machine-8x-rtx-4090", 330, 2.5, 17.0, 18.0),
        # $13.4 an hour and 15M tokens a dollar.
        ("h100-sxm", "machine-8x-h100", 295, 13.4, 15.0, 15.5),
        # $1.5 an hour and 30M tokens a dollar.
        ("rtx-4090", "home-8x-rtx-4090", 330, 1.5, 29.0, 30.0),
    ],
)
def test_tokens_per_dollar(
    accelerator: str,
    host: str,
    batch: int,
    usd_per_hour: float,
    low: float,
    high: float,
) -> None:
    cost = planopt.evaluate_serving(
        **SERVED, accelerator=accelerator, host=host, batch=batch
    ).cost
    assert cost.usd_per_hour == pytest.approx(usd_per_hour, rel=0.03)
    assert cost.tokens_per_usd is not None
    assert low < cost.tokens_per_usd / MILLION < high


def test_the_home_built_machine_gives_twice_the_tokens_per_dollar() -> None:
    """`Exactly twice the 15M token per dollar of 8-card H100`."""
    costs = [
        planopt.evaluate_serving(
            **SERVED, accelerator=accelerator, host=host, batch=batch
        ).cost.tokens_per_usd
        for accelerator, host, batch in (
            ("rtx-4090", "home-8x-rtx-4090", 330),
            ("h100-sxm", "machine-8x-h100", 295),
        )
    ]
    home, board = costs
    assert home is not None
    assert board is not None
    assert home / board == pytest.approx(2.0, rel=0.05)


def _overlay(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return str(folder)


def _host(id_: str, accelerator: str, count: int, price: int, watts: int) -> str:
    return (
        f'id = "{id_}"\nname = "{id_}"\nform_factors = ["pcie", "sxm"]\n'
        f'slots = {count}\nwhole = true\nlink = "pcie4-x16"\nnics = 1\n'
        f'power = "{watts} W"\nrack_units = 0\nprice = "${price}"\n'
        f'[includes]\naccelerator = "{accelerator}"\ncount = {count}\n'
    )


def _offer(accelerator: str, count: int, usd_per_hour: float) -> str:
    return (
        'id = "guide"\nname = "Guide"\n[[offer]]\ninstance = "box"\n'
        f'accelerator = "{accelerator}"\ncount = {count}\nregion = "any"\n'
        f'price = "${usd_per_hour}/h"\n'
    )


def test_a_desktop_breaks_even_with_the_cloud_after_293_days(tmp_path: Path) -> None:
    """The GPU guide: $2200 of desktop with an RTX 3090 against a V100 at $2.14/h."""
    catalog = _overlay(
        tmp_path,
        {
            # 450 W in all, of which the card draws 350.
            "hosts/guide-desktop.toml": _host(
                "guide-desktop", "rtx-3090", 1, 2200, 100
            ),
            "offers/guide.toml": _offer("v100-sxm2-16", 1, 2.14),
        },
    )
    plan = planopt.solve(
        model="llama-3.2-3b",
        target="1tok/s",
        concurrency=1,
        procurement="both",
        provider="guide",
        host="guide-desktop",
        duty="15%",
        regained="100%",
        electricity="$0.12/kWh",
        catalog=[catalog],
    )
    ways = plan.rent_or_buy
    assert ways is not None
    assert ways.break_even_days == pytest.approx(292.958, abs=0.01)


def test_a_lessor_has_his_money_back_after_seven_months(tmp_path: Path) -> None:
    """The article: H100 at the marked price pays back in about 7 months.

    It names no price. At the one that its own machine needs for 7 months, half of it
    takes a year and a half at most, as it says of large customers.
    """
    months = {}
    for usd_per_hour in (60.7, 30.35):
        catalog = _overlay(
            tmp_path / str(usd_per_hour),
            {"article/offers/guide.toml": _offer("h100-sxm", 8, usd_per_hour)},
        )
        plan = planopt.solve(
            model="article-70b",
            accelerators="h100-sxm",
            target="5tok/s",
            batch=64,
            max_model_len=128,
            assumptions="article",
            procurement="rent",
            host="machine-8x-h100",
            catalog=[catalog],
        )
        ways = plan.rent_or_buy
        assert ways is not None
        assert ways.buy is not None
        assert ways.buy.price_usd == 300_000
        assert ways.break_even_days is not None
        months[usd_per_hour] = ways.break_even_days / DAYS_PER_MONTH
    assert months[60.7] == pytest.approx(7.0, rel=0.01)
    assert 12 < months[30.35] < 18
