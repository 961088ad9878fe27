"""Every diagnostic in the source is explained, and nothing else is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from planopt.errors import InputError
from planopt.explain import Explanation, explanation, explanations

if TYPE_CHECKING:
    from pathlib import Path

CODE = re.compile(r"\b[EW]\d{3}\b")


def codes_in_source(repository: Path) -> set[str]:
    sources = [
        *(repository / "python" / "planopt").rglob("*.py"),
        *(repository / "rust").glob("*/src/**/*.rs"),
    ]
    return {
        code
        for source in sources
        if "explain" not in source.parts
        for code in CODE.findall(source.read_text(encoding="utf-8"))
    }


def test_the_explained_codes_are_those_in_use(repository: Path) -> None:
    assert {each.code for each in explanations()} == codes_in_source(repository)


@pytest.mark.parametrize("each", explanations(), ids=lambda each: each.code)
def test_explanations_are_complete_sentences(each: Explanation) -> None:
    assert each.meaning.endswith(".")
    assert each.fix.endswith(".")
    assert each.example.strip()
    assert not each.title.endswith(".")


def test_codes_are_found_in_either_case() -> None:
    assert explanation("e105") == explanation("E105")


def test_unknown_code_offers_the_nearest() -> None:
    with pytest.raises(InputError, match="E105"):
        explanation("E1O5")
