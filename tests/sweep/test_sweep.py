"""Sweeps here: cut the same way every time, resumed without loss, on any executor."""

from __future__ import annotations

import json
import sys
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.json import decode
from small_study import STUDY

from planopt.catalog.open import open_catalog
from planopt.cli import main
from planopt.door import written
from planopt.errors import InputError
from planopt.sweeps.parts import Parts
from planopt.sweeps.run import SweepResult, merged, sweep
from planopt.sweeps.study import read_study
from planopt.sweeps.work import _frozen, executor_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from planopt.steps import Step

WORKLOAD = """
id = "short"
name = "Short answers"
prompt = { value = 256, source = "chosen" }
output = { value = 64, source = "chosen" }

[sources.chosen]
cite = "chosen for a test"
date = "2026-11-21"
status = "assumed"
"""
CANDIDATES = 2 * 2 * (2 * 3 * 2 * 3 * 2 * 3 * 2 * 9)


@pytest.fixture
def study(tmp_path: Path) -> str:
    path = tmp_path / "study.toml"
    path.write_text(STUDY, encoding="utf-8")
    return str(path)


def rows_of(result: SweepResult) -> list[dict[str, Any]]:
    return list(Parts(Path(result.folder)).rows())


def test_a_study_names_parts_and_models_as_people_do(study: str) -> None:
    by_id = read_study(study).candidates
    text = Path(study).read_text(encoding="utf-8")
    for id_, name in (
        ("h100-sxm", "H100"),
        ("hgx-8", "HGX 8"),
        ("llama-2-7b", "meta-llama/Llama-2-7b-hf"),
    ):
        text = text.replace(f'"{id_}"', f'"{name}"')
    Path(study).write_text(text, encoding="utf-8")
    assert read_study(study).candidates == by_id == CANDIDATES


def test_every_candidate_is_covered_once(
    study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planopt.steps.AGAIN", 0.0)
    told: list[Step] = []
    result = sweep(study, out=str(tmp_path / "out"), on_progress=told.append)
    assert result.candidates == CANDIDATES
    assert result.candidates == result.evaluated + result.rejected
    assert result.chunks == 4 * -(-CANDIDATES // 4 // 500)
    assert len(told) >= result.chunks
    done = [each.done for each in told]
    assert done == sorted(done)
    assert {(each.of, each.what) for each in told} == {(CANDIDATES, "candidates")}
    assert done[-1] == CANDIDATES


def test_the_front_of_chunks_is_that_of_the_whole(study: str, tmp_path: Path) -> None:
    import pyarrow.parquet

    result = sweep(study, out=str(tmp_path / "out"))
    front = pyarrow.parquet.read_table(tmp_path / "out" / "front.parquet").to_pylist()
    assert len(front) == result.front
    for case in read_study(study).cases:
        native = open_catalog((), case.assumptions).native
        for exhaustive in (True, False):
            whole = decode(
                native.front(written(case.request), written({"exhaustive": exhaustive}))
            )
            assert whole["covered"] == case.candidates
            expected = [(row["index"], row["days"]) for row in whole["rows"]]
            own = [row for row in front if row["case"] == case.index]
            assert [(row["index"], row["days"]) for row in own] == expected
    electricity = {row["electricity_usd_per_kwh"] for row in front}
    assert electricity == {0.05, 0.3}


class _Failing(Executor):
    """Does a few tasks, then nothing more: as a driver that is killed."""

    def __init__(self, tasks: int) -> None:
        self.left = tasks

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        future: Future[Any] = Future()
        self.left -= 1
        if self.left < 0:
            future.set_exception(KeyboardInterrupt())
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_a_stopped_sweep_goes_on_where_it_was(study: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        sweep(study, out=str(out), executor=_Failing(5))
    finished = sorted(path.name for path in out.glob("part-*.parquet"))
    assert 0 < len(finished) <= 5
    # What a killed writer leaves behind is no part.
    (out / "part-000007.999.tmp").write_bytes(b"half of a file")

    resumed = sweep(study, out=str(out))
    whole = sweep(study, out=str(tmp_path / "whole"))

    assert resumed.resumed == len(finished)
    assert resumed.candidates == whole.candidates == CANDIDATES
    assert resumed.checksum == whole.checksum
    assert rows_of(resumed) == rows_of(whole)


def test_any_executor_is_accepted(study: str, tmp_path: Path) -> None:
    import multiprocessing

    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=spawn) as executor:
        apart = sweep(study, out=str(tmp_path / "apart"), executor=executor)
    here = sweep(study, out=str(tmp_path / "here"))
    assert apart.checksum == here.checksum
    assert rows_of(apart) == rows_of(here)


def test_parts_of_another_study_are_not_mixed(study: str, tmp_path: Path) -> None:
    sweep(study, out=str(tmp_path / "out"))
    Path(study).write_text(STUDY.replace("0.3", "0.4"), encoding="utf-8")
    with pytest.raises(InputError) as refused:
        sweep(study, out=str(tmp_path / "out"))
    assert refused.value.diagnostics[0].code == "E008"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("part-000001.parquet", b"half of a file"),
        ("part-999999.parquet", None),
        ("manifest.json", b"{"),
        ("manifest.json", b'{"fingerprint": 3}'),
    ],
)
def test_what_a_sweep_did_not_write_is_told(
    name: str, content: bytes | None, study: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    sweep(study, out=str(out))
    part = (out / "part-000000.parquet").read_bytes()
    (out / name).write_bytes(part if content is None else content)
    with pytest.raises(InputError) as refused:
        sweep(study, out=str(out))
    (problem,) = refused.value.diagnostics
    assert (problem.code, problem.value) == ("E008", str(out / name))


def test_a_part_of_another_study_is_not_counted(study: str, tmp_path: Path) -> None:
    sweep(study, out=str(tmp_path / "mine"))
    Path(study).write_text(STUDY.replace("0.3", "0.4"), encoding="utf-8")
    sweep(study, out=str(tmp_path / "other"))
    part = (tmp_path / "mine" / "part-000000.parquet").read_bytes()
    (tmp_path / "other" / "part-000000.parquet").write_bytes(part)
    with pytest.raises(InputError, match="it is of another study"):
        sweep(study, out=str(tmp_path / "other"))


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    """A catalog of the user's own, with one workload in it."""
    folder = tmp_path / "overlay" / "workloads"
    folder.mkdir(parents=True)
    (folder / "short.toml").write_text(WORKLOAD, encoding="utf-8")
    return folder.parent


def test_a_catalog_that_changes_is_not_mixed(
    study: str, overlay: Path, tmp_path: Path
) -> None:
    out, catalog = str(tmp_path / "out"), [str(overlay)]

    class Changing(_Failing):
        """Changes the catalog after two chunks, as an installation does."""

        def submit(
            self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
        ) -> Future[Any]:
            if self.left == 3:
                _frozen.cache_clear()
                changed = WORKLOAD.replace("256", "512")
                (overlay / "workloads" / "short.toml").write_text(changed)
            return super().submit(fn, *args, **kwargs)

    with pytest.raises(InputError) as refused:
        sweep(study, out=out, catalog=catalog, executor=Changing(5))
    assert refused.value.diagnostics[0].code == "E009"
    assert len(list(Path(out).glob("part-*.parquet"))) <= 2
    with pytest.raises(InputError) as refused:
        sweep(study, out=out, catalog=catalog)
    assert refused.value.diagnostics[0].code == "E008"


def test_a_place_of_no_known_kind_is_told(study: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing can be run on `moon`"):
        sweep(study, out=str(tmp_path / "out"), on="moon")


@pytest.mark.parametrize(
    ("given", "wrong", "field"),
    [
        ("chunk = 500", "chunk = 0", "study.chunk"),
        ("chunk = 500", "chunk = -1", "study.chunk"),
        ("chunk = 500", "chunk = -5", "study.chunk"),
        ("chunk = 500", "chunk = 1.5", "study.chunk"),
        ("chunk = 500", "chunk = nan", "study.chunk"),
        ("chunk = 500", "chunk = 1e300", "study.chunk"),
        ("chunk = 500", "chunk = 99999999999999999999", "study.chunk"),
        ("chunk = 500", "chunk = []", "study.chunk"),
        ("chunk = 500", "assumptions = 3", "study.assumptions"),
        ("chunk = 500", "assumptions = [3]", "study.assumptions[0]"),
        ("chunk = 500", "assumptions = []", "study.assumptions"),
        ("chunk = 500", "hardware = [3]", "study.hardware[0]"),
        ("chunk = 500", "workloads = 3", "study.workloads"),
        ('models = ["llama-2-7b", "llama-2-13b"]', "models = 3", "study.models"),
        ('models = ["llama-2-7b", "llama-2-13b"]', "models = []", "study.models"),
        ("chunk = 500", "chunks = 3", "study.chunks"),
        ("[study]", "[[study]]", "study"),
        ("[space.run]", "[[space.run]]", "run"),
        ("[space.run]", "[space.rum]", "run"),
    ],
)
def test_a_study_that_cannot_be_is_refused(
    given: str,
    wrong: str,
    field: str,
    study: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path(study).write_text(STUDY.replace(given, wrong), encoding="utf-8")
    with pytest.raises(SystemExit) as left:
        main(["sweep", study, "--out", str(tmp_path / "out")])
    assert left.value.code == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error[E10")
    assert field in told.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("table", ["study", "space"])
def test_a_study_that_is_no_text_is_refused(
    table: str, study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bytes_ = tmp_path / "bytes.toml"
    bytes_.write_bytes(b"\xff\xfe")
    if table == "space":
        Path(study).write_text(f'space = "{bytes_.as_posix()}"', encoding="utf-8")
    name = study if table == "space" else str(bytes_)
    with pytest.raises(SystemExit) as left:
        main(["sweep", name, "--out", str(tmp_path / "out")])
    assert left.value.code == 2
    assert "error[E006]" in capsys.readouterr().err


def test_only_the_unbeaten_rows_of_a_case_stay() -> None:
    def row(case: int, price: float, days: float, index: int) -> dict[str, float]:
        return {"case": case, "price_usd": price, "days": days, "index": index}

    kept = [row(0, 1.0, 5.0, 3), row(0, 2.0, 4.0, 1), row(1, 3.0, 9.0, 0)]
    beaten = [row(0, 1.0, 5.0, 8), row(0, 3.0, 4.0, 2), row(0, 2.0, 6.0, 4)]
    assert merged([*beaten, *kept], ("price_usd", "days")) == kept


def test_the_command_prints_one_document(
    study: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["sweep", study, "--out", str(tmp_path / "out"), "--json"])
    assert not left.value.code
    written = capsys.readouterr()
    assert json.loads(written.out)["candidates"] == CANDIDATES
    assert not written.err, "a bar where there is no terminal"


def test_ray_is_told_of_no_folder_with_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It has its workers import from where it is opened, first of all.
    told: list[Path] = []
    ray = SimpleNamespace(
        init=lambda **_: told.append(Path.cwd()), shutdown=lambda: None
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.chdir(tmp_path)

    with executor_on("ray://auto"):
        assert Path.cwd() == tmp_path

    (folder,) = told
    assert folder != tmp_path
    assert not list(folder.glob("*.py"))
