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
    from planopt.documents.plan import PlanDocument

_ASSETS = Path(__file__).with_name("assets")
_SCRIPTS = (
    *("figures", "svg", "drawings", "machines", "sections"),
    *("serving", "training", "fleet", "none", "page"),
)
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
_APPENDIX = """\
<template id="appendix">
<section class="card flows"><pre>{text}</pre></section>
</template>
"""


def page(plan: PlanDocument, appendix: str = "") -> str:
    """Write a page that shows a plan, and a text at its end."""
    shown = printable(plan)
    model = getattr(shown.request, "model", None) or "fleet"
    return _PAGE.format(
        policy=_policy(),
        title=escape(f"planopt: {model}"),
        style=style(),
        text=escape(markdown(shown)),
        appendix=appendix and _APPENDIX.format(text=escape(appendix)),
        plan=_embedded(shown),
        script=script(),
    )


def frame(plan: PlanDocument) -> str:
    """Show a plan in a page of others: the page itself, in a frame of its own."""
    return (
        '<iframe sandbox="allow-scripts allow-downloads allow-modals" '
        'style="width:100%;height:640px;border:0" title="plan" '
        f'srcdoc="{escape(page(plan))}"></iframe>'
    )


def style() -> str:
    """Return the style sheet."""
    return _asset("page.css")


def script() -> str:
    """Put the scripts together, where nothing else can see their names."""
    texts = "".join(_asset(f"{name}.js") for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{texts}}})();\n'


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _policy() -> str:
    """Let nothing be loaded, and nothing run but what planopt has written."""
    scripts, styles = _hash(script()), _hash(style())
    return f"default-src 'none'; script-src '{scripts}'; style-src '{styles}'"


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
