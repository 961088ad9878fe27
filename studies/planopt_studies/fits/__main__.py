"""``python -m planopt_studies.fits --tables FOLDER``: the same fit every time."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from planopt.catalog.open import bundled_folder
from planopt_reference import Facts
from planopt_studies.fits import kernels as fits_of
from planopt_studies.fits.collectives import DIRECT_LIMIT, all_reduces
from planopt_studies.fits.kernels import Peak
from planopt_studies.fits.profile import PROFILE_CITE, PROFILED, profiled_card
from planopt_studies.fits.tables import SYSTEMS, Kernels
from planopt_studies.fits.write import Section, replace_fitted, section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from planopt_studies.fits.fit import Fit
    from planopt_studies.fits.tables import System

# Accelerators whose figures stand for others of their family.
_FAMILIES: Final = {
    "hopper": "h100-sxm",
    "blackwell": "b200",
    "ampere": "a100-sxm-80",
    "ada": "l40s",
}
_PRODUCTS: Final = ("bf16", "fp8", "nvfp4")
_EXPERTS: Final = ("bf16", "fp8", "nvfp4", "int4", "mxfp4")
_CITE: Final = "aiconfigurator-core {version} (ai-dynamo, Apache-2.0), systems/data"


def main() -> None:
    """Fit every accelerator and link of the tables and write the assumptions."""
    arguments = _arguments()
    tables = Kernels(arguments.tables, seed=arguments.seed)
    sections = list(
        _sections(tables, arguments.profile, arguments.version, arguments.date)
    )
    replace_fitted(arguments.out, sections)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="planopt_studies.fits", description=__doc__)
    parser.add_argument("--tables", type=Path, required=True, help="systems/data")
    parser.add_argument("--profile", type=Path, help="rtx4090-llama-3.1-8b")
    parser.add_argument("--version", required=True, help="of the tables, cited")
    parser.add_argument("--date", required=True, help="of the fit, cited")
    parser.add_argument("--seed", type=int, default=0, help="of the samples")
    parser.add_argument(
        "--out",
        type=Path,
        default=bundled_folder() / "assumptions" / "calibrated.toml",
        help="assumptions whose fitted part is replaced",
    )
    return parser.parse_args()


def _sections(
    tables: Kernels, profile: Path | None, version: str, date: str
) -> Iterator[Section]:
    facts = Facts(bundled_folder(), assumptions="calibrated")
    cite = _CITE.format(version=version)
    for system in SYSTEMS:
        names = [f"accelerators.{system.accelerator}"]
        names += [
            f"families.{family}"
            for family, stands in _FAMILIES.items()
            if stands == system.accelerator
        ]
        peak = _peak(facts, system.accelerator)
        fitted = _fit_accelerator(tables, system, peak)
        print(system.accelerator, len(fitted), "tables", flush=True)
        for name in names:
            if name.startswith("families."):
                fitted |= _dense(tables, system, peak, is_own=False)
            for part, (figures, fits) in fitted.items():
                own = f"{cite}/{system.folder}"
                yield section(f"{name}{part}", figures, fits, own, date)
    if profile is not None:
        for part, (figures, fits) in profiled_card(profile, facts).items():
            name = f"accelerators.{PROFILED}{part}"
            yield section(name, figures, fits, PROFILE_CITE, date)
    for link in dict.fromkeys(system.link for system in SYSTEMS if system.link):
        systems = [system for system in SYSTEMS if system.link == link]
        bandwidth = facts.accelerator(systems[0].accelerator).scale_up_bandwidth
        found = all_reduces(tables, systems, bandwidth)
        if found is not None:
            folders = ", ".join(system.folder for system in systems)
            own = f"{cite}/{{{folders}}}/comm"
            figures = {**found.values, "direct_limit": DIRECT_LIMIT}
            yield section(f'links."{link}"', figures, [found], own, date)


Fitted = dict[str, tuple[dict[str, float], list["Fit"]]]
"""Figures and their fits by the table they go to, behind the accelerator's own."""


def _dense(tables: Kernels, system: System, peak: Peak, *, is_own: bool) -> Fitted:
    fitted: Fitted = {}
    for weights in _PRODUCTS:
        found = fits_of.products(tables, system, peak, weights, is_own=is_own)
        _add(fitted, f".formats.{weights}", found)
    return fitted


def _fit_accelerator(tables: Kernels, system: System, peak: Peak) -> Fitted:
    fitted: Fitted = {}
    dense = fits_of.products_of_training(tables, system, peak)
    prompts = fits_of.attention_prompts(tables, system, peak)
    decoding = fits_of.decode_attention(tables, system, peak)
    general = [each for each in (dense, prompts, decoding) if each is not None]
    figures = {name: value for each in general for name, value in each.values.items()}
    # Launching attention costs as much for a prompt; the cache tells it better.
    figures.pop("overhead", None)
    if general:
        fitted[""] = (figures, general)
    fitted |= _dense(tables, system, peak, is_own=True)
    for weights in _EXPERTS:
        part = f".formats.{weights}"
        best = fits_of.experts(tables, system, peak, weights)
        _add(fitted, f"{part}.experts", best)
        for family in fits_of.FAMILIES:
            own = fits_of.experts(tables, system, peak, weights, family)
            _add(fitted, f"{part}.kernels.{family}", own)
    return fitted


def _add(fitted: Fitted, part: str, found: Fit | None) -> None:
    if found is not None:
        fitted[part] = (dict(found.values), [found])


def _peak(facts: Facts, accelerator: str) -> Peak:
    """Look up peak rates under the names of formats."""
    found = facts.accelerator(accelerator)
    names = {"bf16": "bf16", "fp8": "fp8", "nvfp4": "fp4"}
    flops = {
        ours: found.peak[name] for ours, name in names.items() if name in found.peak
    }
    return Peak(flops, found.memory_bandwidth)


if __name__ == "__main__":
    main()
