"""What the style sheet of the page says: contrast of every pair, in light and dark."""

from __future__ import annotations

import re
from itertools import combinations, product
from pathlib import Path

import pytest

import planopt

SHEET = Path(planopt.__file__).parent / "report" / "page" / "assets" / "page.css"
TEXT, GRAPHIC = 4.5, 3.0
"""WCAG 2.2 AA: of text, and of what has to be told apart from what it stands on."""


def colours(theme: int) -> dict[str, str]:
    """The palette of a theme: 0 light, 1 dark."""
    palette = SHEET.read_text("utf-8").partition("}")[0]
    found = re.findall(r"--([\w-]+): (?:light-dark\((#\w+), (#\w+)\)|(#\w+))", palette)
    return {name: (light, dark)[theme] or both for name, light, dark, both in found}


def luminance(colour: str) -> float:
    digits = colour[1:]
    digits = "".join(each * 2 for each in digits) if len(digits) == 3 else digits
    channels = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4
        for each in channels
    ]
    return sum(
        each * share
        for each, share in zip(linear, (0.2126, 0.7152, 0.0722), strict=True)
    )


def contrast(one: str, other: str) -> float:
    light, dark = sorted(map(luminance, (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_contrast(theme: int) -> None:
    of = colours(theme)
    assert len(of) == 32
    told = [*product(("ink", "ink2", "ink3"), ("page", "panel", "tint"))]
    told += [(name, "panel") for name in ("accent", "good", "warn", "bad")]
    told += [(name, f"{name}-tint") for name in ("good", "warn", "bad")]
    told += [("ink", "warn-tint"), ("ink", "accent-tint"), ("ink2", "accent-tint")]
    told += [(f"t{place}", f"s{place}") for place in range(1, 9)]
    least = {pair: contrast(of[pair[0]], of[pair[1]]) for pair in told}
    assert min(least.values()) >= TEXT, min(least, key=lambda pair: least[pair])
    drawn = [contrast(of[f"s{place}"], of["panel"]) for place in range(1, 9)]
    assert min(drawn) >= GRAPHIC


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize("sheet", ["page", "explorer"])
def test_contrast_of_every_rule(sheet: str, theme: int) -> None:
    """What a rule writes or frames, on what it paints or on what it may stand."""
    of = colours(theme)
    text = SHEET.with_name(f"{sheet}.css").read_text("utf-8").partition("}\n")[2]
    checked = 0
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", text):
        said = dict(re.findall(r"([\w-]+):[^;]*?var\(--([\w-]+)\)", body))
        grounds = [said["background"]] if "background" in said else ["panel", "page"]
        # Hairlines and what is struck out of use say nothing (WCAG 1.4.11).
        frame = said.get("border") if "text" in selector else None
        for ground in grounds:
            for colour, least in ((said.get("color"), TEXT), (frame, GRAPHIC)):
                if colour is not None:
                    checked += 1
                    ratio = contrast(of[colour], of[ground])
                    assert ratio >= least, (selector.strip(), colour, ground, ratio)
    assert checked > 10


def test_stages_that_are_many_can_be_read() -> None:
    drawn = SHEET.with_name("machines.js").read_text("utf-8")
    ramp = re.findall(r'"(#\w{6})"', drawn.partition("CIVIDIS")[2].partition("]")[0])
    (last_dark,) = re.findall(r"LAST_DARK = (\d+)", drawn)
    assert len(ramp) == 17
    for place, colour in enumerate(ramp):
        text = "#14181d" if place > int(last_dark) else "#fff"
        assert contrast(colour, text) >= TEXT, place


def test_the_contrast_of_black_on_white_is_known() -> None:
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#fff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("theme", [0, 1])
def test_series_differ(theme: int) -> None:
    of = colours(theme)
    shown = [of[f"s{place}"] for place in range(1, 9)]
    assert all(one != other for one, other in combinations(shown, 2))
