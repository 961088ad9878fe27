"""Parameters of the operation lists against the published totals.

Where a checkpoint holds more than the list, the model file has `[[outside]]`.
"""

from __future__ import annotations

import csv
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec import structs

from planopt.catalog.open import bundled_folder, open_catalog
from planopt_reference import Facts
from planopt_reference.architecture import model_from_table

if TYPE_CHECKING:
    from pathlib import Path

# Every model whose list is not the whole checkpoint, and why.
PARTS_OUTSIDE_OF_THE_LIST = {
    "deepseek-r1": "shared matrices stored again, and scales of FP8 blocks",
    "deepseek-v3": "shared matrices stored again, and scales of FP8 blocks",
    "falcon-40b": "the tied head is stored again",
    "falcon-180b": "the tied head is stored again",
    "gemma-3-27b": "vision tower",
    "glm-4.5": "shared matrices stored again",
    "kimi-k2-instruct": "56 parameters of a layer that nothing explains",
    "llama-4-scout-17b-16e": "vision tower",
}
# Published active parameters that are counted otherwise (see the model files).
ACTIVE_COUNTED_OTHERWISE = {
    "falcon-40b",
    "falcon-180b",
    "gemma-3-27b",
    "llama-4-scout-17b-16e",
}


def published(shared: Path) -> dict[str, tuple[int, int]]:
    """Read the totals and the active parameters by model."""
    with (shared / "catalog-facts" / "params.csv").open(encoding="utf-8") as lines:
        return {
            row["model"]: (int(row["total_params"]), int(row["active_params"]))
            for row in csv.DictReader(lines)
        }


def configs(shared: Path) -> list[Path]:
    """List the published configurations, the reconstructed ones last."""
    folder = shared / "catalog-facts" / "hf-configs"
    return [
        *sorted(folder.glob("*.json")),
        *sorted(folder.glob("reconstructed/*.json")),
    ]


@cache
def described(model: str) -> dict[str, Any]:
    """Describe a model by id or path, as the core reads it."""
    return structs.asdict(open_catalog().model(model))


def whole(model: str) -> int:
    """Count the parameters of the list and of multi-token prediction."""
    description = described(model)
    counted: int = description["parameters"] + description["mtp_parameters"]
    return counted


def outside(model: str) -> int:
    """Add up what the model file says is in the checkpoint but not in the list."""
    return sum(parameters for _, parameters in described(model)["outside"])


def test_every_total_is_met_exactly(shared: Path) -> None:
    totals = published(shared)
    assert len(totals) >= 48
    for model, (total, _) in totals.items():
        assert whole(model) + outside(model) == total, model
        assert (outside(model) != 0) == (model in PARTS_OUTSIDE_OF_THE_LIST), model


def test_every_active_total_is_met_exactly(shared: Path) -> None:
    for model, (_, active) in published(shared).items():
        same = described(model)["active_parameters"] == active
        assert same == (model not in ACTIVE_COUNTED_OTHERWISE), model


def test_a_config_json_gives_the_list_of_the_catalog(shared: Path) -> None:
    totals, read = published(shared), configs(shared)
    assert len(read) >= 45
    for config in read:
        model, ours = config.stem, described(str(config))
        assert ours["operations"] == described(model)["operations"], model
        if model in totals:
            assert whole(str(config)) + outside(model) == totals[model][0], model


def test_the_reference_counts_the_same_parameters(shared: Path) -> None:
    catalog = open_catalog()
    facts = Facts(bundled_folder(), assumptions="calibrated")
    for model in [entry.id for entry in catalog.list("models")]:
        reference = model_from_table(facts.model_table(model))
        assert reference.parameters == described(model)["parameters"], model
        modules = reference.mtp_modules * reference.mtp_parameters
        assert modules == described(model)["mtp_parameters"], model
        embedded = model_from_table(catalog.architecture(model))
        assert list(embedded.operations()) == list(
            model_from_table(facts.model_table(model)).operations()
        ), model
    for config in configs(shared):
        embedded = model_from_table(catalog.architecture(str(config)))
        assert embedded.parameters == described(str(config))["parameters"], config.stem
