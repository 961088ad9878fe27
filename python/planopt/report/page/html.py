"""A plan as one page that needs nothing else: the plan, what draws it, how it looks."""

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from pathlib import Path

import msgspec

from planopt.documents.derivation import Derivation
from planopt.documents.homes import HomesPlan
from planopt.documents.plan import PlanDocument
from planopt.printable import printable, screened
from planopt.report.homes import render_homes
from planopt.report.page.tables import markdown

_ASSETS = Path(__file__).with_name("assets")
REPORT = (
    *("figures", "svg", "drawings", "machines", "sections"),
    *("derivation", "serving", "training", "fleet", "none", "homes", "plot", "page"),
)
"""Scripts, and style sheets of the same names, of a page that shows a plan."""
EXPLORER = (*REPORT, "controls", "pinned", "explorer")
"""Those of a page that asks for plans, too."""
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
{body}
<script>{script}</script>
</body>
</html>
"""
_BODY = """\
<noscript><pre>{text}</pre></noscript>
{appendix}<script type="application/json" id="plan">{plan}</script>
<script type="application/json" id="derivation">{derivations}</script>"""
_APPENDIX = """\
<template id="appendix">
<section class="card flows"><pre>{text}</pre></section>
</template>
"""


def page(
    plan: PlanDocument | HomesPlan,
    appendix: str = "",
    derivations: Sequence[Derivation] = (),
) -> str:
    """Write a page that shows a plan, how it was worked out, and a text at its end."""
    shown = printable(plan)
    if isinstance(shown, PlanDocument):
        model = getattr(shown.request, "model", None) or "fleet"
        told, shown = markdown(shown), carried(shown)
    else:
        model, told = shown.model, screened(str(render_homes(shown)))
    body = _BODY.format(
        text=escape(told),
        appendix=appendix and _APPENDIX.format(text=escape(appendix)),
        derivations=embedded(printable(derivations)),
        plan=embedded(shown),
    )
    return document(f"planopt: {model}", body)


def document(
    title: str,
    body: str,
    assets: tuple[str, ...] = REPORT,
    *,
    scripts: str = "",
    allowed: str = "",
) -> str:
    """Write a page of what it holds, and of the scripts that show it.

    Nothing is loaded but what is allowed, and nothing runs but planopt's own scripts.
    """
    texts = _assets(assets, "js")
    script = f'(() => {{\n"use strict";\n{texts}}})();\n'
    style = _assets(assets, "css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}' {scripts}; "
        f"style-src '{_hash(style)}'; {allowed}"
    )
    return _PAGE.format(
        policy=policy, title=escape(title), style=style, body=body, script=script
    )


def frame(text: str) -> str:
    """Show a page in a page of others, in a frame of its own."""
    return (
        '<iframe sandbox="allow-scripts allow-downloads allow-modals" '
        'style="width:100%;height:640px;border:0" title="plan" '
        f'srcdoc="{escape(text)}"></iframe>'
    )


def _assets(names: tuple[str, ...], kind: str) -> str:
    """Put the scripts or style sheets together, of those that have one."""
    files = (_ASSETS / f"{name}.{kind}" for name in names)
    return "".join(each.read_text(encoding="utf-8") for each in files if each.exists())


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"sha256-{digest}"


_INSIDE_A_SCRIPT = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}


def embedded(value: object) -> str:
    """Write JSON so that no text in it can end the script that it stands in."""
    return msgspec.json.encode(value).decode().translate(_INSIDE_A_SCRIPT)


def carried(plan: PlanDocument) -> PlanDocument:
    """Leave the facts of a large plan out."""
    if len(msgspec.json.encode(plan)) > LARGEST:
        return msgspec.structs.replace(plan, facts=None)
    return plan
