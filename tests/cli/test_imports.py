"""Other people's catalogs: imported whole, or not at all and with every reason."""

from __future__ import annotations

import json
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import pytest

import planopt
from planopt.catalog.open import Catalog, bundled_folder
from planopt.cli import main

if sys.version_info >= (3, 11):
    from tomllib import loads
else:
    from tomli import loads

if TYPE_CHECKING:
    from pathlib import Path

HEADER = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,"
    "SpotPrice,AvailabilityZone\n"
)
ROWS = HEADER + (
    "p5,H100,8.0,192.0,2048.0,60.0,here,30.0,here-a\n"
    "p5,H100,8.0,192.0,2048.0,58.0,here,58.0,here-b\n"
    "p5,H100,8.0,192.0,2048.0,70.0,there,,there-a\n"
    "c5,,,4,16,0.2,here,,here-a\n"
    ",tpu-v6e-256,1,,,700.0,here,,here-a\n"
    "p2,P100,2,24,144,2.55,here,,here-a\n"
)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    assert isinstance(left.value.code, int)
    return left.value.code


def test_rows_become_offers_and_the_rest_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cloud-vms.csv").write_text(ROWS, encoding="utf-8")
    out = tmp_path / "mine"
    asked = ("catalog", "import-skypilot", str(tmp_path / "cloud-vms.csv"))
    assert run(*asked, "--out", str(out), "--date", "2026-11-20", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["offers"] == 2
    assert sum(told["skipped"].values()) == 3
    assert "not stated" in told["taken_for"]["H100"]

    catalog = Catalog((str(out),), "calibrated")
    shown = catalog.show("offers", "cloud/p5/here").figures
    figures = {figure.field: figure for figure in shown}
    assert figures["accelerator"].text == "h100-sxm"
    assert figures["count"].text == "8"
    # The lower price of two zones; a spot price that is no lower is none.
    assert figures["price"].text == "$58/h"
    assert figures["spot"].text == "$30/h"
    assert figures["price"].date == "2026-11-20"
    assert "skypilot" in str(figures["price"].cite)

    plan = planopt.solve(
        model="llama-3.1-8b",
        target="10tok/s",
        procurement="rent",
        provider="cloud",
        catalog=[str(out)],
    )
    assert plan.deployments[0].hardware.host == "cloud/p5/here"


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        (",SpotPrice", ",SpotPriceEUR", "E112", "did you mean `SpotPrice`"),
        (",Price,", ",Cost,", "E112", "there is no column `Price`"),
        ("60.0", "n/a", "E113", ":2"),
        ("70.0", "-70.0", "E113", ":4"),
        ("here-b\n", "here-b,more\n", "E113", "10 cells under 9 columns"),
        ("8.0", "7.5", "E113", "no whole number"),
        (",2.55,", ",nan,", "E113", "no figure"),
    ],
)
def test_nothing_is_half_imported(
    old: str,
    new: str,
    code: str,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    good, bad, out = (tmp_path / name for name in ("a-vms.csv", "b-vms.csv", "out"))
    good.write_text(ROWS, encoding="utf-8")
    bad.write_text(ROWS.replace(old, new, 1), encoding="utf-8")
    assert (
        run("catalog", "import-skypilot", str(good), str(bad), "--out", str(out)) == 2
    )
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"error[{code}]" in shown.err
    assert said in shown.err
    assert not out.exists()


def test_all_unknown_columns_are_named_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "vms.csv").write_text("Instance,GPU,Euro\nx,y,1\n", encoding="utf-8")
    assert run("catalog", "import-skypilot", str(tmp_path / "vms.csv")) == 2
    said = capsys.readouterr().err
    assert all(f"`{name}`" in said for name in ("Instance", "GPU", "Euro", "Price"))


def test_the_samples_of_skypilot(shared: Path, tmp_path: Path) -> None:
    from planopt.catalog.imports import import_skypilot

    files = sorted((shared / "catalog-facts" / "skypilot-sample").glob("*.csv"))
    imported = import_skypilot(files, tmp_path / "out")
    offers = Catalog((str(tmp_path / "out"),), "calibrated").list("offers")
    by_id = {each.id: each.name for each in offers}
    # GCP's a2 stands at 0.739 without its A100, and must not become an offer.
    assert not any(id_.startswith("gcp/a2") for id_ in by_id if "0.74" in by_id[id_])
    assert by_id["verda/1B300.30V/FIN-03"] == "1x b300, $6.99/h"
    assert by_id["hyperstack/n3-A100x1/CANADA-1"] == "1x a100-pcie-80, $1.35/h"
    assert {offer.provider for offer in imported.offers} >= {"aws", "nebius", "runpod"}
    assert not any(offer.price == 700.0 for offer in imported.offers)
    # RunPod copies its price into the column of spot prices.
    assert all(o.spot is None for o in imported.offers if o.provider == "runpod")


def test_files_of_dstack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lambda.csv").write_text(
        "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot\n"
        "gpu_8x_a100,us-east-1,10.32,124,1800,8,A100,40,False\n"
        "gpu_8x_a100,us-east-1,6.0,124,1800,8,A100,40,True\n"
        "cpu,us-east-1,0.1,4,16,0,,,False\n",
        encoding="utf-8",
    )
    out = tmp_path / "mine"
    file = str(tmp_path / "lambda.csv")
    assert run("catalog", "import-dstack", file, "--out", str(out)) == 0
    assert "1 offers of lambda" in capsys.readouterr().out
    (offer,) = [
        each
        for each in Catalog((str(out),), "calibrated").list("offers")
        if each.id.startswith("lambda/")
    ]
    assert offer.name == "8x a100-sxm-40, $10.32/h"


DSTACK = (
    "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,"
    "provider\n"
)


def dstack_row(provider: str, instance: str = "box", region: str = "any") -> str:
    return f'{instance},{region},10,124,1800,8,A100,40,False,"{provider}"\n'


def everything_below(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_no_provider_of_a_table_is_a_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "victim.toml").write_text("mine", encoding="utf-8")
    hostile = (str(tmp_path / "victim"), "../../victim", "..", "AWS", "a b", "aws.")
    table = tmp_path / "offers.csv"
    rows = (dstack_row(provider) for provider in ("aws", *hostile))
    table.write_text(DSTACK + "".join(rows), encoding="utf-8")
    before = everything_below(tmp_path)
    out = str(tmp_path / "mine")

    for force in ((), ("--force",)):
        asked = ("catalog", "import-dstack", str(table), "--out", out, *force)
        assert run(*asked) == 2
        said = capsys.readouterr().err
        assert said.count("error[E114]") == len(hostile)
        for line, provider in enumerate(hostile, start=3):
            assert f"{table}:{line}" in said
            assert f"= field: `provider` is `{provider}`" in said
        assert said.count("= accepted: lower-case letters") == len(hostile)
        assert said.count("--provider NAME") == len(hostile)
        assert everything_below(tmp_path) == before


@pytest.mark.parametrize("command", ["import-dstack", "import-skypilot"])
def test_neither_a_file_nor_an_option_names_a_provider_with_a_path(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "Their Offers.csv"
    table.write_text(
        DSTACK + 2 * dstack_row("") if command == "import-dstack" else ROWS,
        encoding="utf-8",
    )
    asked = ("catalog", command, str(table), "--out", str(tmp_path / "mine"))

    assert run(*asked) == 2
    said = capsys.readouterr().err
    assert said.count("error[E114]: `Their Offers` cannot be an id") == 1
    assert "--provider NAME" in said
    assert run(*asked, "--provider", "../mine") == 2
    assert "--> --provider ../mine" in capsys.readouterr().err
    assert not (tmp_path / "mine").exists()
    assert run(*asked, "--provider", "theirs") == 0


def test_every_wrong_cell_of_a_table_is_told_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "offers.csv"
    table.write_text(
        DSTACK + dstack_row("../x") + dstack_row("aws").replace(",10,", ",n/a,"),
        encoding="utf-8",
    )
    assert run("catalog", "import-dstack", str(table), "--out", str(tmp_path)) == 2
    said = capsys.readouterr().err
    assert "error[E114]" in said
    assert "error[E113]" in said


def test_files_that_are_there_are_replaced_by_force_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "offers.csv"
    table.write_text(DSTACK + dstack_row("aws") + dstack_row("gcp"), encoding="utf-8")
    out = tmp_path / "mine"
    asked = ("catalog", "import-dstack", str(table), "--out", str(out))
    assert run(*asked) == 0
    (out / "offers" / "gcp.toml").unlink()
    (out / "offers" / "aws.toml").write_text("by hand", encoding="utf-8")
    capsys.readouterr()

    assert run(*asked) == 2
    assert "error[E010]" in capsys.readouterr().err
    assert everything_below(out) == {"offers/aws.toml": "by hand"}
    assert run(*asked, "--force") == 0
    assert set(everything_below(out)) == {"offers/aws.toml", "offers/gcp.toml"}
    assert "by hand" not in everything_below(out)["offers/aws.toml"]


HARMLESS = 'quote" back\\slash # = [x] \U0001f980 caf\xe9 \'\'\' """'


def test_names_of_a_table_stay_names(tmp_path: Path) -> None:
    from planopt.catalog.imports import import_dstack

    cell = HARMLESS.replace('"', '""')
    table = tmp_path / 'o"ff\ners.csv'
    row = dstack_row("aws", f'"{cell}"', f'"{cell}"')
    table.write_text(DSTACK + row, encoding="utf-8")

    import_dstack([table], tmp_path / "mine")

    offer = loads((tmp_path / "mine/offers/aws.toml").read_text(encoding="utf-8"))
    assert offer["offer"][0]["instance"] == HARMLESS
    assert offer["offer"][0]["region"] == HARMLESS
    assert offer["sources"]["list"]["cite"].endswith('o"ff\ners.csv')


@pytest.mark.parametrize("character", ["\0", "\n", "\x1b", "\x7f", "\x85"])
def test_control_characters_are_no_part_of_a_cell(
    character: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "offers.csv"
    row = dstack_row("aws", instance=f'"box{character}[2J"')
    table.write_text(DSTACK + row, encoding="utf-8", newline="")

    assert run("catalog", "import-dstack", str(table), "--out", str(tmp_path)) == 2
    said = capsys.readouterr().err
    assert "error[E113]" in said
    assert character == "\n" or character not in said
    assert everything_below(tmp_path).keys() == {"offers.csv"}


def test_a_cell_without_end_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "offers.csv"
    table.write_text(DSTACK + dstack_row("aws", "x" * 200_000), encoding="utf-8")

    assert run("catalog", "import-dstack", str(table), "--out", str(tmp_path)) == 2
    assert "error[E113]: this is no CSV" in capsys.readouterr().err


def test_the_package_of_dstack(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = str(tmp_path / "mine")
    monkeypatch.setitem(sys.modules, "gpuhunt", None)
    assert run("catalog", "import-dstack", "--out", out) == 2
    assert "planopt[offers]" in capsys.readouterr().err

    package = ModuleType("gpuhunt")
    item = SimpleNamespace(
        provider="vastai",
        instance_name="box",
        location="any",
        price=0.5,
        cpu=8,
        memory=32.0,
        gpu_count=1,
        gpu_name="RTX4090",
        gpu_memory=24.0,
        spot=False,
    )
    package.query = lambda **_: [item]  # type: ignore[attr-defined] # what is asked of it
    monkeypatch.setitem(sys.modules, "gpuhunt", package)
    assert run("catalog", "import-dstack", "--out", out, "--json") == 0
    assert json.loads(capsys.readouterr().out)["providers"] == {"vastai": 1}


def test_a_model_of_hugging_face_is_the_model_of_the_catalog(
    shared: Path, tmp_path: Path
) -> None:
    from planopt.catalog.imports import import_hf

    configs = shared / "catalog-facts" / "hf-configs"
    for name in ("llama-3.1-8b", "deepseek-v2-lite", "gpt-oss-20b", "gemma-2-9b"):
        file = import_hf(configs / f"{name}.json", tmp_path, name=f"my-{name}")
        assert file == tmp_path / "models" / f"my-{name}.toml"
        counted = Catalog((str(tmp_path),), "calibrated").model(f"my-{name}")
        expected = Catalog((), "calibrated").model(name)
        assert counted.parameters == expected.parameters
        assert counted.layers == expected.layers


@pytest.mark.parametrize(
    ("name", "id_"),
    [
        ("../../victim", "victim"),
        ("/etc/Victim", "etc-victim"),
        ('Llama "3.1" \U0001f980', "llama-3.1"),
    ],
)
def test_a_model_is_written_inside_under_an_id_made_of_its_name(
    name: str, id_: str, shared: Path, tmp_path: Path
) -> None:
    config = str(shared / "catalog-facts" / "hf-configs" / "llama-3.1-8b.json")
    out = tmp_path / "mine"
    asked = ("catalog", "import-hf", config, "--out", str(out), "--name", name)

    assert run(*asked) == 0
    assert set(everything_below(tmp_path)) == {f"mine/models/{id_}.toml"}
    shown = Catalog((str(out),), "calibrated").show("models", id_)
    assert shown.name == name.encode("utf-8", "backslashreplace").decode()

    assert run(*asked) == 2
    assert run(*asked, "--force") == 0


@pytest.mark.parametrize("name", ["..", "/", "\u6a21\u578b", ""])
def test_a_model_without_an_id_is_refused(
    name: str, shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(shared / "catalog-facts" / "hf-configs" / "llama-3.1-8b.json")
    out = tmp_path / "mine"

    assert run("catalog", "import-hf", config, "--out", str(out), "--name", name) == 2
    assert "error[E114]" in capsys.readouterr().err
    assert not out.exists()


def test_names_lead_to_accelerators_that_there_are() -> None:
    from planopt.catalog.offers import _names

    known = {each.id for each in Catalog((), "calibrated").list("accelerators")}
    names = _names()
    assert set(names["accelerators"].values()) <= known
    assert set(names["ambiguous"]) <= set(names["accelerators"])
    assert bundled_folder().is_dir()


def test_an_import_says_who_answers_for_the_machines_as_the_bundled_offers_do() -> None:
    names = bundled_folder().parent / "catalog" / "names.toml"
    classes = loads(names.read_text("utf-8"))["classes"]
    for path in sorted((bundled_folder() / "offers").glob("*.toml")):
        provider = loads(path.read_text("utf-8"))
        stated = provider["class"]["value"]
        assert classes.get(provider["id"], "cloud") == stated, provider["id"]
