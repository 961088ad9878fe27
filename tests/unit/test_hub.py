"""Models of the Hub are asked for only where somebody says so."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from configs import CONFIG

import planopt
from planopt.catalog.imports import import_hf
from planopt.errors import InputError
from planopt.exchange.imports import read_command

if TYPE_CHECKING:
    from pathlib import Path

ON: dict[str, Any] = {"accelerator": "h100-sxm", "batch": 4, "max_model_len": 4096}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """A Hub with one model, laid out as its client lays it out; what it was asked."""
    asked = []

    def snapshot_download(repository: str, allow_patterns: list[str]) -> str:
        asked.append(repository)
        if repository != "somebody/new-8b":
            raise FileNotFoundError(f"404: {repository}\nsee the log")
        assert "config.json" in allow_patterns
        entry = tmp_path / "models--somebody--new-8b"
        folder = entry / "snapshots" / ("0" * 40)
        for each in (folder, entry / "refs"):
            each.mkdir(parents=True, exist_ok=True)
        (entry / "refs" / "main").write_text("0" * 40)
        (folder / "config.json").write_text(json.dumps(CONFIG), "utf-8")
        return str(folder)

    client = SimpleNamespace(snapshot_download=snapshot_download)
    monkeypatch.setitem(sys.modules, "huggingface_hub", client)
    return asked


def test_a_model_of_the_hub_is_evaluated_as_its_file_is(hub: list[str]) -> None:
    found = planopt.evaluate_serving(model="somebody/new-8b", online=True, **ON)
    known = planopt.evaluate_serving(model="llama-3.1-8b", **ON)
    assert hub == ["somebody/new-8b"]
    assert found.decode == known.decode
    assert "new-8b" in (found.model or "")


def test_what_the_catalogs_know_is_not_asked_for(hub: list[str]) -> None:
    planopt.evaluate_serving(model="meta-llama/Llama-3.1-8B", online=True, **ON)
    assert hub == []


def test_nothing_is_asked_without_the_option(hub: list[str]) -> None:
    with pytest.raises(InputError) as refused:
        planopt.evaluate_serving(model="somebody/new-8b", **ON)
    assert refused.value.diagnostics[0].field == "--model"
    assert hub == []


def test_what_the_hub_refuses_is_told(hub: list[str]) -> None:
    with pytest.raises(InputError) as refused:
        planopt.evaluate_serving(model="somebody/other", online=True, **ON)
    (problem,) = refused.value.diagnostics
    assert (problem.code, problem.value) == ("E006", "somebody/other")
    assert problem.message.endswith("404: somebody/other")
    assert hub == ["somebody/other"]


def test_the_package_is_named_where_it_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError) as refused:
        planopt.evaluate_serving(model="somebody/new-8b", online=True, **ON)
    (problem,) = refused.value.diagnostics
    assert problem.code == "E905"
    assert "planopt[online]" in (problem.help or "")


def test_commands_and_catalogs_take_it_too(hub: list[str], tmp_path: Path) -> None:
    line = "vllm serve somebody/new-8b --max-model-len 4096 --max-num-seqs 4"
    found = read_command(line, tool="vllm", accelerator="h100-sxm", online=True)
    assert found.fits
    file = import_hf("somebody/new-8b", tmp_path / "own", online=True)
    assert file.name == "new-8b.toml"
    assert hub == ["somebody/new-8b"] * 2
