"""A plan as one page that needs nothing else: the plan, what draws it, how it looks."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from planopt.printable import printable
from planopt.report.page.markdown import markdown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from planopt.documents.plan import PlanDocument

_ASSETS = Path(__file__).with_name("assets")
_SCRIPTS = ("figures", "svg", "drawings", "machines", "sections", "serving", "page")
LARGEST = 400_000
"""Bytes of a plan that a page carries whole; a larger one leaves its facts out."""

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript><pre>{text}</pre></noscript>
{appendix}<script type="application/json" id="plan">{plan}</script>
<script>{script}</script>
</body>
</html>
"""


def page(plan: PlanDocument, appendix: str = "") -> str:
    """Write a page that shows a plan; `appendix` is HTML that stands at its end."""
    shown = printable(plan)
    style, script = _style(), _script()
    model = getattr(shown.request, "model", None) or "fleet"
    return _PAGE.format(
        policy=_policy(style, script),
        title=escape(f"planopt: {model}"),
        style=style,
        text=escape(markdown(shown)),
        appendix=appendix and f"<template>{appendix}</template>\n",
        plan=_embedded(shown),
        script=script,
    )


def _style() -> str:
    return _asset("page.css")


def _script() -> str:
    """Put the scripts together, where nothing else can see their names."""
    return f'(() => {{\n"use strict";\n{"".join(map(_asset, _js(_SCRIPTS)))}}})();\n'


def _js(names: Iterable[str]) -> list[str]:
    return [f"{name}.js" for name in names]


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """Let nothing be loaded, and nothing run but what planopt has written."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'"
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"


_INSIDE_A_SCRIPT = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}


def _embedded(plan: PlanDocument) -> str:
    """Write a plan so that no text in it can end the script that it stands in."""
    text = msgspec.json.encode(plan)
    if len(text) > LARGEST:
        text = msgspec.json.encode(msgspec.structs.replace(plan, facts=None))
    return text.decode().translate(_INSIDE_A_SCRIPT)
