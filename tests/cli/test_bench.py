import json
from pathlib import Path

import pytest

from planopt import _native, bench
from planopt.cli import main
from planopt.errors import InputError
from planopt.spaces import SPACES, read_space

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
    monkeypatch.setattr(_native, "build_info", lambda: {"build_profile": "release"})
    monkeypatch.setattr(bench, "RANDOM_CANDIDATES", 500)


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return str(path)


@pytest.mark.usefixtures("release")
def test_every_candidate_is_counted_once_and_threads_agree(small: str) -> None:
    found = bench.bench(threads=2, spaces=[small])

    space = found[small]
    assert space["candidates"] == 2 * 2 * 2 * 2 * 2 * 9
    assert space["candidates"] == space["evaluated"] + space["rejected"]
    assert 0 < space["rejected"] < space["evaluated"]
    assert sum(space["rejected_by"].values()) == space["rejected"]
    for part in (space, found["random_access"]):
        assert part["checksum"] == part["checksum_of_one_thread"]
        assert part["candidates_per_second"] > 0
    assert found["build_profile"] == "release"
    assert found["threads"] == 2


def test_a_debug_build_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "build_info", lambda: {"build_profile": "debug"})
    with pytest.raises(InputError) as refused:
        bench.bench()
    assert refused.value.diagnostics[0].code == "E904"


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
