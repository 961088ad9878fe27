"""Plans of random small fleets: verify takes each, and none with a field changed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from forging import forged, other_than
from planopt.catalog.open import bundled_folder
from planopt.fleets.plan import fleet as plan_fleet
from planopt_reference import verify_plan
from planopt_reference.fields import figures

if TYPE_CHECKING:
    from pathlib import Path

# The reference is slow: its tests may take longer than others on a busy machine.
pytestmark = pytest.mark.timeout(600)

HOURS = ", ".join(["0.05"] * 8 + ["0.2"] * 12 + ["0.1"] * 4)
ELECTRICITY = ('electricity = "$0.08/kWh"', f"electricity_by_hour = [{HOURS}]", "")
DAY = ", ".join(["0.25"] * 8 + ["1.0"] * 10 + ["0.4"] * 6)


@st.composite
def files(draw: st.DrawFn) -> str:
    """A fleet of one model and up to two sizes of requests, hardware of three ways."""
    lines = ["[horizon]", f"periods = {draw(st.integers(1, 3))}"]
    if draw(st.booleans()):
        lines.append(f'budget = "${draw(st.integers(500, 3000))}k"')
    lines += ["[[region]]", 'name = "here"', draw(st.sampled_from(ELECTRICITY))]
    if draw(st.booleans()):
        lines.append("carbon_kg_per_kwh = 0.2")
    if draw(st.booleans()):
        lines.append(f'power = "{draw(st.integers(30, 200))} kW"')
    if draw(st.booleans()):
        lines += [f"racks = {draw(st.integers(2, 20))}", 'rack_power = "40 kW"']
    lines += ["[[curve]]", 'name = "day"', f"weekday = [{DAY}]", f"weekend = [{DAY}]"]
    lines += ["[[class]]", 'name = "answers"', 'target = "15 tok/s"', 'ttft = "3 s"']
    lines += ["[[workload]]", 'name = "chat"', 'model = "llama-3.1-8b"']
    lines += ['class = "answers"', f"growth = {draw(st.sampled_from([0, 0.2, 0.5]))}"]
    if draw(st.booleans()):
        lines.append('curve = "day"')
    failure = draw(st.sampled_from(["replica", "host", "rack"]))
    lines += [f"failures = {draw(st.integers(0, 1))}", f'failure = "{failure}"']
    short = draw(st.sampled_from([1.0, 0.75]))
    lines += ["[[workload.size]]", 'name = "short"', f"share = {short}"]
    lines += ["prompt = 512", "output = 256"]
    if short < 1:
        lines += ["[[workload.size]]", 'name = "long"', f"share = {1 - short}"]
        lines += ["prompt = 4096", "output = 512"]
    lines += ["[[workload.demand]]", 'region = "here"']
    lines.append(f'requests = "{draw(st.integers(5, 120))}/s"')
    card = draw(st.sampled_from(["l40s", "rtx-4090", "rtx-4090@350W"]))
    lines += ["[[buy]]", f'accelerator = "{card}"', 'host = "pcie-4gpu"']
    if draw(st.booleans()):
        lines.append(f"stock = {draw(st.integers(4, 200))}")
    if draw(st.booleans()):
        lines += ["[[own]]", 'accelerator = "a100-sxm-80"', 'host = "hgx-8"']
        lines += ['region = "here"', f"hosts = {draw(st.integers(1, 2))}"]
    if draw(st.booleans()):
        lines += ["[[rent]]", 'offer = "lambda/gpu_8x_h100_sxm5/us-east-1"']
        lines += ['region = "here"', f"quota = {draw(st.integers(0, 4))}"]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fleets")


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(files(), st.data())
def test_verify_takes_a_plan_and_refuses_it_with_any_one_field_changed(
    folder: Path, text: str, data: st.DataObject
) -> None:
    file = folder / "fleet.toml"
    file.write_text(text, encoding="utf-8")
    plan = plan_fleet(file, compare=False, time_limit="5s")
    if plan.total_usd is None:
        assert plan.infeasibility is not None
    assume(plan.total_usd is not None)
    document = json.loads(plan.to_json())
    assert verify_plan(document, bundled_folder()) == []
    field, value = data.draw(st.sampled_from(figures(document)))
    changed = forged(document, field, other_than(value, by=0.01))
    assert verify_plan(changed, bundled_folder()), f"{field}: {value}"


RACKS_BESIDE_A_HOST = """
[horizon]
periods = 2
[[region]]
name = "here"
electricity = "$0.08/kWh"
[[class]]
name = "answers"
target = "15 tok/s"
ttft = "3 s"
[[workload]]
name = "chat"
model = "llama-3.1-8b"
class = "answers"
growth = 0.5
failures = 1
failure = "rack"
[[workload.size]]
name = "short"
share = 0.75
prompt = 512
output = 256
[[workload.size]]
name = "long"
share = 0.25
prompt = 4096
output = 512
[[workload.demand]]
region = "here"
requests = "7/s"
[[buy]]
accelerator = "rtx-4090"
host = "pcie-4gpu"
[[own]]
accelerator = "a100-sxm-80"
host = "hgx-8"
region = "here"
hosts = 1
"""
"""A rack of bought hosts fails together, and what is owned is a host: neither failure
may be counted at the size of the other."""


def test_the_free_mix_knows_what_covers_know(folder: Path) -> None:
    file = folder / "racks.toml"
    file.write_text(RACKS_BESIDE_A_HOST, encoding="utf-8")
    plan = plan_fleet(file, compare=False, time_limit="5s")
    assert plan.status == "optimal"
    assert plan.gap == 0
    assert verify_plan(json.loads(plan.to_json()), bundled_folder()) == []
