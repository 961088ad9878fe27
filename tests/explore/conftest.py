"""One page for all tests of the explorer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from exploring import GIVEN, Served, ended, started

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    """The page of a question about steps."""
    page = started(*GIVEN)
    yield page
    ended(page)
