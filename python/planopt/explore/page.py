"""The explorer's page: controls made of the table of options, and the report's page."""

from collections.abc import Iterator, Mapping, Sequence

from planopt._native import formats
from planopt.catalog.open import Catalog, open_catalog
from planopt.options import Option, table, taken_by
from planopt.report.page.html import EXPLORER, document, embedded

IN_FRONT = (
    *("model", "isl", "osl", "concurrency", "request_rate"),
    *("target", "ttft", "percentile", "confidence"),
    *("accelerators", "datacenter", "neighbours", "islands", "tokens"),
    *("procurement", "budget", "prices", "duty", "electricity", "years"),
)
"""Controls that are seen at once; the others are behind a button of their panel."""
ASKED = ("solve", "solve --neighbours", "train --islands")
"""Commands that a question of the page is one of: by what it names."""
NOT_HERE = ("catalog", "traffic", "assumptions", "explain", "draft")
"""Files are named on the command line; a derivation is of a saved plan."""
LISTED_WHOLE = ("formats", "links", "workloads")
"""What a name can only be one of; models can be files, too."""
LISTED = {"parts": "accelerators"}
"""What is offered of what the catalog lists under another name."""
SERVED = "connect-src 'self'"


def explorer(folders: Sequence[str], given: Mapping[str, object]) -> str:
    """Write the page that asks a server."""
    controls = panels(taken_by("explore"), folders)
    settings = {"given": given, "folders": folders, "panels": controls}
    body = held("explorer", embedded(settings), "application/json")
    return document("planopt explorer", body, EXPLORER, allowed=SERVED)


def held(name: str, text: str, kind: str = "text/plain") -> str:
    """Hold a text in the page, where its script finds it."""
    return f'<script type="{kind}" id="{name}">{text}</script>'


def panels(
    taken: Mapping[str, Option], folders: Sequence[str]
) -> list[dict[str, object]]:
    """List the controls by panel, each as the table of options tells of it."""
    catalog = open_catalog(folders)
    return [
        {"name": panel, "controls": controls}
        for panel in table().panels
        if panel != "Output" and (controls := list(_of_panel(panel, taken, catalog)))
    ]


def _of_panel(
    panel: str, taken: Mapping[str, Option], catalog: Catalog
) -> Iterator[dict[str, object]]:
    for argument, option in taken.items():
        if option.panel == panel and argument not in NOT_HERE:
            yield {
                "argument": argument,
                "flag": option.flag,
                "help": option.help,
                "kind": option.kind,
                "example": option.example or option.metavar,
                "usual": option.default or option.default_text or "",
                "words": _words(option, catalog),
                "is_listed": option.of in LISTED_WHOLE,
                "is_in_front": argument in IN_FRONT,
                "commands": [name for name in ASKED if argument in taken_by(name)],
            }


def _words(option: Option, catalog: Catalog) -> Sequence[str]:
    """List what an option may be; none where that is a number or free."""
    kind = LISTED.get(option.of or "", option.of)
    if kind == "formats":
        return formats()
    if kind in ("accelerators", "hosts", "links", "networks", "models", "workloads"):
        return [entry.id for entry in catalog.list(kind)]
    return option.choices
