"""What servers add to kernels stays within what hosts can do, and is all they add."""

from __future__ import annotations

import sys

import pytest

from planopt.catalog.open import bundled_folder
from planopt_studies.fits.engine_rows import (
    SERVERS,
    TERMS,
    USUAL,
    engine_parameters,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FILE = bundled_folder() / "assumptions" / "calibrated.toml"
_ENGINES = tomllib.loads(_FILE.read_text(encoding="utf-8"))["engines"]
_NOT_FITTED = {"steps", "policy", "experts", "memory", "host_cache"}


@pytest.mark.parametrize("engine", [*SERVERS, USUAL])
def test_a_server_has_terms_of_its_host_within_their_ranges(engine: str) -> None:
    terms = {term.key: term for term in TERMS}
    figures = {
        key: float(str(entry["value"]).removesuffix(" us"))
        for key, entry in _ENGINES[engine].items()
        if key not in _NOT_FITTED
    }
    assert figures.keys() <= terms.keys()
    outside = {
        key: value
        for key, value in figures.items()
        if not terms[key].low <= value <= terms[key].high
    }
    assert not outside


def test_terms_are_fitted_within_their_ranges() -> None:
    for parameter in engine_parameters("vllm"):
        low, high = parameter.bounds
        assert parameter.value(low) == pytest.approx(parameter.low)
        assert parameter.value(high) == pytest.approx(parameter.high)
        assert high - low == pytest.approx(1.0)
