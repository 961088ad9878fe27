"""``planopt catalog import-...``: other people's catalogs as overlays."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from planopt.cli.exits import OK
from planopt.cli.options import FORCE, JSON
from planopt.cli.output import show
from planopt.printable import printable

if TYPE_CHECKING:
    from planopt.catalog.offers import Imported

_Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Overlay folder to write into")
]
_Provider = Annotated[
    str | None, typer.Option("--provider", metavar="NAME", help="Whose offers they are")
]
_Date = Annotated[
    str | None,
    typer.Option("--date", metavar="2026-11-21", help="When the prices were read"),
]


def import_skypilot(
    *,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...")],
    out: _Out = Path("overlay"),
    provider: _Provider = None,
    date: _Date = None,
    force: FORCE = False,
    json: JSON = False,
) -> int:
    """Import offers of SkyPilot's catalogs: aws/vms.csv and the like."""
    from planopt.catalog.skypilot import import_skypilot as read

    _tell(read(files, out, provider=provider, date=date, force=force), out, json=json)
    return OK


def import_dstack(
    *,
    files: Annotated[list[Path] | None, typer.Argument(metavar="[FILE...]")] = None,
    out: _Out = Path("overlay"),
    provider: _Provider = None,
    date: _Date = None,
    force: FORCE = False,
    json: JSON = False,
) -> int:
    """Import offers of dstack's gpuhunt: its CSV files, or the package itself."""
    from planopt.catalog.dstack import import_dstack as read

    _tell(
        read(files or [], out, provider=provider, date=date, force=force),
        out,
        json=json,
    )
    return OK


def import_hf(
    *,
    config: Annotated[Path, typer.Argument(metavar="config.json")],
    out: _Out = Path("overlay"),
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="Name of the model, of which its id is made"
        ),
    ] = None,
    force: FORCE = False,
    json: JSON = False,
) -> int:
    """Import a model from its Hugging Face config.json."""
    from planopt.catalog.huggingface import import_hf as read
    from planopt.report.catalog import render_model

    file = read(config, out, name=name, force=force)
    written = {"model": file.stem, "files": [str(file)]}
    show(written, partial(render_model, out=_shown(out)), json=json)
    return OK


def add_to(app: typer.Typer) -> None:
    """Put the imports among the commands of the catalog."""
    app.command("import-skypilot")(import_skypilot)
    app.command("import-dstack")(import_dstack)
    app.command("import-hf")(import_hf)


def _tell(imported: "Imported", out: Path, *, json: bool) -> None:
    from planopt.report.catalog import render_imported

    show(imported.counts(), partial(render_imported, out=_shown(out)), json=json)


def _shown(folder: Path) -> str:
    return printable(str(folder))
