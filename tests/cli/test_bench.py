from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.json import decode

from planopt.catalog.open import open_catalog
from planopt.cli import main
from planopt.door import written
from planopt.errors import InputError
from planopt.sweeps import bench
from planopt.sweeps.spaces import SPACES, read_space, read_toml, space_of_tables

if TYPE_CHECKING:
    from pathlib import Path

    from planopt.steps import Step

SMALL = """
kind = "training"
about = "a few candidates"
accelerators = ["h100-sxm"]
hosts = ["hgx-8"]
networks = ["infiniband-400g"]
tp = [2, 4]
sequence_parallel = [true]
micro_batch = [1, 8]
pipeline = [[2, 1], [4, 1]]
recompute = ["none", "full"]
dp = [8, 16]
shard = ["zero1"]
rounds = 9
max_accelerators = 1024

[run]
model = "llama-2-13b"
accelerator = "h100-sxm"
seq_len = 4096
tokens = 1e12
"""


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "build_info", lambda: {"build_profile": "release"})
    monkeypatch.setattr(bench, "RANDOM_CANDIDATES", 500)


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return str(path)


@pytest.mark.usefixtures("release")
def test_every_candidate_is_counted_once_and_threads_agree(
    small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planopt.steps.AGAIN", 0.0)
    told: list[Step] = []
    found = bench.bench(threads=2, spaces=[small], on_progress=told.append)

    space, apart = found[small], found["random_access"]
    assert isinstance(space, bench.Measured)
    assert isinstance(apart, bench.Measured)
    assert space.candidates == 2 * 2 * 2 * 2 * 2 * 9
    assert space.candidates == space.evaluated + space.rejected
    assert 0 < space.rejected < space.evaluated
    assert sum(space.rejected_by.values()) == space.rejected
    for part in (space, apart):
        assert part.checksum == part.checksum_of_one_thread
        assert part.candidates_per_second > 0
    assert found["build_profile"] == "release"
    assert found["threads"] == 2
    done = [each.done for each in told]
    assert done == sorted(done)
    assert done[-1] == 2 * bench.REPEATS * (space.candidates + apart.candidates)
    assert {(each.of, each.what) for each in told} == {(done[-1], "candidates")}


def test_a_debug_build_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "build_info", lambda: {"build_profile": "debug"})
    with pytest.raises(InputError) as refused:
        bench.bench()
    assert refused.value.diagnostics[0].code == "E904"


@pytest.mark.parametrize("threads", [0, 1025, 10**18])
def test_more_threads_than_there_can_be_are_refused(threads: int) -> None:
    with pytest.raises(InputError) as refused:
        bench.bench(threads=threads)
    assert refused.value.diagnostics[0].code == "E003"


def test_an_unknown_space_is_told_with_those_there_are() -> None:
    with pytest.raises(InputError, match="did you mean `training`"):
        read_space("trainin")


@pytest.mark.parametrize("name", sorted(each.stem for each in SPACES.glob("*.toml")))
def test_a_shipped_space_can_be_read(name: str) -> None:
    assert read_space(name).about


@pytest.mark.usefixtures("release")
def test_the_command_prints_one_document(
    small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["bench", "--json", "--space", small, "--threads", "1"])
    assert not left.value.code
    document = json.loads(capsys.readouterr().out)
    assert set(document) == {"build_profile", "cpu", "threads", small, "random_access"}


def _axes(axes: dict[str, Any]) -> dict[str, list[Any]]:
    """Values of the axes of a space, those that start from 1 left out."""
    return {
        name: [*values]
        for name, values in axes.items()
        if isinstance(values, list) and len(values) > 1
    }


@pytest.mark.parametrize("name", ["training", "serving"])
def test_no_value_of_an_axis_leaves_the_figures_as_they_are(name: str) -> None:
    """Places are the same: only figures can make another checksum."""
    space = read_space(name)
    few = {"rounds": 4} if space.kind == "training" else {"in_flight": 2, "batch": 8}
    hardware = {"accelerators": ["a100-sxm-80", "h100-sxm"]}
    request = {**space.request, **few, **hardware}
    axes = _axes(request)
    first = {axis: values[:1] for axis, values in axes.items()}
    middle = {axis: values[len(values) // 2 :][:1] for axis, values in axes.items()}
    catalog = open_catalog().native
    options = {"access": "bulk", "threads": 1, "chunk": 2**18, "candidates": 2**63}
    for axis, values in axes.items():
        # One value of an axis may make no difference where nothing works: the others
        # vary a little.
        others = {
            other: [*{str(v): v for v in first[other] + middle[other]}.values()]
            for other in axes
        }
        found = [
            decode(
                catalog.bench(
                    written({**request, **others, axis: [value]}), written(options)
                )
            )
            for value in values
        ]
        assert all(each["evaluated"] for each in found), axis
        assert len({each["checksum"] for each in found}) == len(values), axis


@pytest.mark.parametrize("name", ["training", "serving"])
def test_most_candidates_of_a_measured_space_work(name: str) -> None:
    """Rejected ones cost little: they may be half of the space at most."""
    catalog = open_catalog().native
    options = {"access": "random", "threads": 0, "chunk": 2**12, "candidates": 50_000}
    found = decode(catalog.bench(written(read_space(name).request), written(options)))
    assert found["rejected"] <= found["evaluated"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"tp": []}, "tp"),
    ({"tp": [0]}, "tp"),
    ({"recompute": []}, "recompute"),
    ({"rounds": 0}, "rounds"),
    ({"rounds": -1}, "rounds"),
    ({"pipeline": [[0, 1]]}, "pipeline"),
    ({"pipeline": [[4]]}, "pipeline[0]"),
    ({"dp": [2**32 - 1]}, "dp"),
    (
        {"tp": [2**16], "dp": [2**16], "pipeline": [[2**16, 1]]},
        "tp x cp x dp x pipeline",
    ),
    ({"years": 0.0}, "years"),
    ({"years": float("nan")}, "years"),
    ({"electricity_usd_per_kwh": -1.0}, "electricity_usd_per_kwh"),
    ({"dp": "many"}, "dp"),
    ({"bubbles": 1}, "bubbles"),
    ({"hosts": ["desktop"]}, "accelerators"),
    ({"accelerators": ["h100-sxm", "b300"]}, "accelerators"),
    ({"accelerators": [], "hosts": ["mac-studio-m2-ultra"]}, "hosts, networks"),
    ({"run": {"model": "llama-2-13b", "accelerator": "h100-sxm"}}, "run.tokens"),
]


@pytest.mark.parametrize(("change", "field"), WRONG)
def test_an_axis_that_cannot_be_is_told(change: dict[str, Any], field: str) -> None:
    space = space_of_tables("small", {**read_toml("small", SMALL), **change})
    with pytest.raises(InputError) as refused:
        open_catalog().native.front(written(space.request), b"{}")
    told = [each for each in refused.value.diagnostics if each.field == field]
    assert told
    assert told[0].accepted


NUMBERS = st.sampled_from(
    [0, 1, 2, 7, 2**16, 2**32 - 1, 2**63, -1, 0.5, float("nan"), float("inf"), "x"]
)
LISTS = ("tp", "cp", "ep", "micro_batch", "dp", "pp", "replicas")
PAIRS = ("pipeline", "lengths")
ALONE = ("rounds", "max_accelerators", "in_flight", "batch", "years")
SPACES_OF_FEW = {
    "training": SMALL,
    "serving": """
        kind = "serving"
        model = "mixtral-8x7b"
        accelerators = ["h100-sxm"]
        hosts = ["hgx-8"]
        networks = ["infiniband-400g"]
        formats = [["fp16", "fp16"]]
        lengths = [[512, 1024]]
        overlap = ["none"]
        tp = [1, 8]
        dp = [1, 2]
        ep = [1, 2]
        pp = [1, 2]
        replicas = [1]
        in_flight = 2
        batch = 3
    """,
}


@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_no_number_breaks_a_space(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(sorted(SPACES_OF_FEW)))
    text = SPACES_OF_FEW[kind]
    request = space_of_tables(kind, read_toml(kind, text)).request
    axis = data.draw(st.sampled_from([*LISTS, *PAIRS, *ALONE]))
    pairs = st.lists(NUMBERS, min_size=2, max_size=2)
    value = data.draw(
        st.lists(pairs, max_size=2)
        if axis in PAIRS
        else NUMBERS
        if axis in ALONE
        else st.lists(NUMBERS, max_size=2)
    )
    with suppress(InputError):
        asked = written({**request, axis: value})
        found = decode(open_catalog().native.front(asked, b"{}"))
        assert all(row["price_usd"] is not None for row in found["rows"])
        assert all(row["usd_per_hour"] is not None for row in found["rows"])
