"""The verifier's own reading of catalogs: units, overlays, the article's folder."""

from pathlib import Path

import pytest

from planopt_reference import FactError, Facts, units


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("24 GiB", "bytes", 24 * 2**30),
        ("24 GB", "bytes", 24e9),
        ("31.508 GB/s", "bytes/s", 31.508e9),
        ("10 Gbps", "bytes/s", 1.25e9),
        ("82.58 TFLOPS", "flop/s", 82.58e12),
        ("2.5 us", "seconds", 2.5e-6),
        ("0.7 ms", "seconds", 0.7e-3),
        ("2 kW", "watts", 2000),
    ],
)
def test_units(text: str, dimension: str, expected: float) -> None:
    assert units.quantity(text, dimension) == expected
    assert units.quantity({"value": text, "source": "s"}, dimension) == expected


@pytest.mark.parametrize(
    "wrong", ["24", "24 GB/s", "GB", "24 gb", 24, None, "1.2.3 GB", True]
)
def test_wrong_units_say_what_is_accepted(wrong: object) -> None:
    with pytest.raises(units.UnitError, match=r"bytes|number"):
        units.quantity(wrong, "bytes")


def test_money_is_integer_micro_dollars() -> None:
    assert units.price("$1599") == 1_599_000_000
    assert units.price("$1,599.99") == 1_599_990_000
    assert units.dollars_per("$0.10/kWh", "kWh") == 0.1
    for wrong in ("1599", "$0.10/kWh", 1599):
        with pytest.raises(units.UnitError):
            units.price(wrong)


def test_an_overlay_replaces_an_entity_whole(catalog: Path, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    text = 'id = "eth-25g"\nname = "x"\nkind = "ethernet"\nbandwidth = "26 Gbps"\n'
    (tmp_path / "links" / "eth-25g.toml").write_text(text, encoding="utf-8")
    assert Facts(catalog, assumptions="article").link("eth-25g").latency == 2e-6
    facts = Facts(catalog, [tmp_path], assumptions="article")
    assert facts.link("eth-25g").bandwidth == 3.25e9
    assert facts.link("eth-25g").latency == 0
    assert facts.link("eth-10g").bandwidth == 1.25e9


def test_assumptions_of_the_article_see_its_own_hardware(
    catalog: Path, tmp_path: Path
) -> None:
    files = {
        "assumptions/seed.toml": (
            (catalog / "assumptions" / "article.toml")
            .read_text(encoding="utf-8")
            .replace('hardware = ""', 'hardware = "article"')
        ),
        "article/links/own.toml": 'id = "own"\nlatency = "1 us"\n',
        "article/models/small.toml": 'id = "small of the article"\n',
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    facts = Facts(catalog, [tmp_path], assumptions="seed")
    assert facts.link("own").latency == 1e-6
    assert facts.model_table("small")["id"] == "small of the article"
    assert facts.model_table("nominal")["id"] == "nominal"
    with pytest.raises(FactError, match="no `eth-10g` in links/"):
        facts.link("eth-10g")
    general = Facts(catalog, [tmp_path], assumptions="article")
    with pytest.raises(FactError, match="no `own` in links/"):
        general.link("own")


def test_assumptions_may_be_a_file(catalog: Path) -> None:
    path = catalog / "assumptions" / "engine.toml"
    facts = Facts(catalog, assumptions=str(path))
    board = facts.assumptions.compute(facts.accelerator("board"))
    assert board.products(None, experts=False).efficiency == 0.5
    assert board.products(None, experts=False).bandwidth_efficiency == 1.0
    card = facts.assumptions.compute(facts.accelerator("card"))
    assert card.products(None, experts=False).efficiency == 1.0


def test_files_that_cannot_be_understood(catalog: Path, tmp_path: Path) -> None:
    for text, message in (
        ('name = "bad"', "key 'id' is missing"),
        ('id = "bad"\nlatency = "1 GB"', "`1 GB` is not a figure in seconds"),
        ("id = ", "Invalid value"),
    ):
        path = tmp_path / "links" / "bad.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        facts = Facts(catalog, [tmp_path], assumptions="article")
        with pytest.raises(FactError, match=f"bad.toml: {message}"):
            facts.link("bad")


BUNDLED = Path(__file__).parents[2] / "catalogs"


@pytest.mark.skipif(not (BUNDLED / "links").is_dir(), reason="no bundled catalogs here")
@pytest.mark.parametrize("assumptions", ["article", "calibrated"])
@pytest.mark.parametrize("kind", ["accelerator", "host", "link", "network"])
def test_the_bundled_catalogs_can_be_read(assumptions: str, kind: str) -> None:
    facts = Facts(BUNDLED, assumptions=assumptions)
    folder = BUNDLED / facts.assumptions.hardware / f"{kind}s"
    read = [getattr(facts, kind)(path.stem) for path in sorted(folder.glob("*.toml"))]
    assert read
