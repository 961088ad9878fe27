"""Catalogs: the bundled one with the user's overlays, read by the compiled core."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from operator import methodcaller
from pathlib import Path
from typing import TypeVar

from msgspec.json import decode
from msgspec.structs import asdict

from planopt._native import Catalog as NativeCatalog
from planopt._native import build_info
from planopt.catalog import KINDS
from planopt.catalog.entries import (
    CostAssumptions,
    Entity,
    Entry,
    Figure,
    Model,
    PriceTag,
    Pricing,
)
from planopt.catalog.hub import fetched, is_repository
from planopt.door import question, written
from planopt.errors import InputError
from planopt.options import Asked
from planopt.steps import Steps

try:
    import planopt_catalog
except ImportError:
    planopt_catalog = None

T = TypeVar("T")

DEFAULT_ASSUMPTIONS = "calibrated"

LIMITED_TO = "@"
"""What parts the id of an accelerator from a power limit, as in ``rtx-4090@350W``."""

ROUTER = "router"
"""What the operation is called that chooses between experts."""

BUNDLED = Path(__file__).parent.parent / "catalogs"
"""Those that planopt brings."""


@lru_cache
def newer() -> Path | None:
    """Folder of installed catalogs, if there are any of a later date than the bundled.

    They are laid over those, under the overlays of whoever asks.
    """
    if planopt_catalog is None:
        return None
    folder = Path(planopt_catalog.__file__).parent / "catalogs"
    return folder if date_of(folder) > date_of(BUNDLED) else None


def date_of(folder: Path) -> str:
    """Day of catalogs, as 2026.11.26; nothing where they say none."""
    try:
        return (folder / "date.txt").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def bundled_folder() -> Path:
    """Folder of the catalogs that planopt brings."""
    return BUNDLED


def _folders(overlays: Sequence[str]) -> list[str]:
    """Folders that are laid over the bundled one, in turn."""
    installed = newer()
    return [*([] if installed is None else [str(installed)]), *overlays]


def catalog_digest(overlays: Sequence[str], assumptions: str) -> str:
    """Tell apart catalogs: a hash of every file, and of the version that reads them."""
    digest = hashlib.sha256(build_info()["version"].encode())
    for folder in (bundled_folder(), *map(Path, _folders(overlays))):
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                digest.update(str(path.relative_to(folder)).encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    if assumptions.endswith(".toml"):
        digest.update(Path(assumptions).read_bytes())
    return digest.hexdigest()


def _is_overlay(folder: Path) -> bool:
    """Whether a folder has a table, or no file at all: none is in it yet."""
    if not folder.is_dir():
        return False
    has_other = False
    for path in folder.rglob("*"):
        if path.suffix == ".toml":
            return True
        has_other = has_other or path.is_file()
    return not has_other


class Catalog:
    """Everything that can be bought or evaluated, with where each figure comes from."""

    def __init__(self, overlays: Sequence[str], assumptions: str) -> None:
        for folder in overlays:
            if not (folder and _is_overlay(Path(folder))):
                raise InputError.of(
                    "E006",
                    f"there is no catalog in `{folder}`",
                    field="--catalog",
                    value=folder,
                    accepted="a folder with accelerators/, hosts/, models/ ...",
                )
        self.overlays = tuple(overlays)
        self.assumptions = assumptions
        self.pricing = Pricing()
        self.native, cost = NativeCatalog.load(
            str(bundled_folder()), _folders(overlays), assumptions
        )
        self.cost = decode(cost, type=CostAssumptions)
        """What is assumed of money over time."""
        self._as_read = self.native
        self._known: dict[object, bytes] = {}
        """What was asked that prices do not change."""

    def price_tags(self) -> list[PriceTag]:
        """Every price of what can be bought."""
        return decode(self.native.price_tags(), type=list[PriceTag])

    def rent_tags(self) -> list[PriceTag]:
        """Every price of an hour of what can be rented."""
        return decode(self.native.rent_tags(), type=list[PriceTag])

    def _with(self, native: NativeCatalog) -> Catalog:
        other = copy.copy(self)
        other.native = native
        return other

    def _changed(self, name: str, *given: object) -> Catalog:
        """Change what was read, and what is paid for it."""
        change = methodcaller(name, *given)
        other = self._with(change(self.native))
        is_as_read = self.native is self._as_read
        other._as_read = other.native if is_as_read else change(self._as_read)
        other._known = {}
        return other

    def asked_once(self, door: str, *given: object) -> bytes:
        """Ask the core what prices do not change, and remember the answer."""
        if (door, given) not in self._known:
            self._known[door, given] = getattr(self.native, door)(*given)
        return self._known[door, given]

    def watched(self, steps: Steps) -> Catalog:
        """Return the same catalog, whose long work is told of."""
        return self._changed("watched", steps.far)

    def with_cost(self, cost: Mapping[str, float]) -> Catalog:
        """Return the same catalog with other assumptions of cost."""
        if not cost:
            return self
        native, told = self.native.with_cost(written(cost))
        other = self._with(native)
        other.cost = decode(told, type=CostAssumptions)
        return other

    def at_price(self, id_: str, usd: float, terms: str | None = None) -> Catalog:
        """Return the same catalog with one price in place of its own."""
        price = written({"id": id_, "usd": usd, "terms": terms})
        return self._with(self.native.at_price(price))

    def paid(self, pricing: Pricing) -> Catalog:
        """Return the same catalog, as it was read, with its parts paid for so."""
        if pricing == self.pricing:
            return self
        terms = asdict(pricing) | {"vat": pricing.vat or 0.0}
        other = self._with(self._as_read.paid(written(terms)))
        other.pricing = pricing
        return other

    def with_power_limits(self, accelerators: object) -> Catalog:
        """Return the same catalog with accelerators that are named with a limit."""
        named = accelerators
        if isinstance(accelerators, str):
            named = accelerators.split(",")
        other = self
        for name in named if isinstance(named, (list, tuple)) else ():
            if LIMITED_TO in str(name):
                id_ = str(name).strip().partition(":")[0]
                other = other._changed("with_power_limit", id_)
        return other

    def with_lower_power(self) -> Catalog:
        """Return the same catalog with accelerators below their power beside them."""
        return self._changed("with_lower_power")

    def ask(
        self, door: str, given: Mapping[str, object], of: type[T], *within: float
    ) -> T:
        """Ask the core a question of options by their names, within some seconds."""
        asked = written(question(door, given))
        return decode(getattr(self.native, door)(asked, *within), type=of)

    def model(self, name: str, kv_heads: int | None = None) -> Model:
        """Tell of a model in short: parameters, width, layers, context, format."""
        asked = written({"name": name, "kv_heads": kv_heads})
        if Path(name).exists():
            # A file may have changed since.
            return decode(self.native.model(asked), type=Model)
        return decode(self.asked_once("model", asked), type=Model)

    def found(self, model: str) -> str:
        """Return a model that is known, or a folder that the Hub has filled."""
        if is_repository(model) and not Path(model).exists():
            try:
                self.model(model)
            except InputError:
                return fetched(model)
        return model

    def has_experts(self, model: str) -> bool:
        """Whether tokens choose between experts in a model, by its id or file."""
        return any(each.name == ROUTER for each in self.model(model).operations)

    def architecture(self, model: str) -> dict[str, object]:
        """Return a model, by its id or file, as the tables of a model file."""
        return decode(self.native.architecture(model), type=dict[str, object])

    def list(self, kind: str) -> tuple[Entry, ...]:
        """Id and name of each entity of a kind."""
        return decode(self.asked_once("list", kind), type=tuple[Entry, ...])

    def show(self, kind: str, id: str) -> Entity:
        """One entity: its figures, each with its source, date and status."""
        return decode(self.native.show(kind, id), type=Entity)

    def figures(self, kind: str, id: str) -> dict[str, Figure]:
        """Figures of one entity by field: the text of each, and where it comes from."""
        return {each.field: each for each in self.show(kind, id).figures}

    def text(self, kind: str, id: str, field: str) -> str | None:
        """Return the text of a figure of an entity that has it."""
        figure = self.figures(kind, id).get(field)
        return None if figure is None else figure.text

    def check(self) -> dict[str, int]:
        """Count the entities by kind; reading the catalog has checked them."""
        return {kind: len(self.list(kind)) for kind in KINDS}


@lru_cache(maxsize=8)
def _opened(overlays: tuple[str, ...], assumptions: str) -> Catalog:
    return Catalog(overlays, assumptions)


def open_catalog(
    catalog: Sequence[str] = (),
    assumptions: str = DEFAULT_ASSUMPTIONS,
    accelerators: object = None,
) -> Catalog:
    """Open the bundled catalog with overlays; without any it is kept, as it is."""
    if catalog or assumptions.endswith(".toml"):
        opened = Catalog(tuple(catalog), assumptions)
    else:
        opened = _opened((), assumptions)
    return opened.with_power_limits(accelerators)


def open_for(asked: Asked) -> Catalog:
    """Open the catalog that the options of a question name."""
    given = asked.given
    accelerators = given.get("accelerator") or given.get("accelerators")
    folders = given.get("catalog", ())
    if isinstance(folders, str) or not isinstance(folders, Iterable):
        folders = (folders,)
    assumptions = str(given.get("assumptions", DEFAULT_ASSUMPTIONS))
    try:
        opened = open_catalog(tuple(map(str, folders)), assumptions, accelerators)
    except InputError as error:
        raise InputError(map(asked.placed, error.diagnostics)) from None
    if given.get("online") and "model" in given:
        given["model"] = opened.found(str(given["model"]))
    return opened
