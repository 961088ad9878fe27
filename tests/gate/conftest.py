"""What is left to shrink, and the files that it is counted in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture
def ratchets() -> dict[str, int]:
    """Numbers that may only go down."""
    with Path(__file__).with_name("ratchets.toml").open("rb") as file:
        return dict(tomllib.load(file))
