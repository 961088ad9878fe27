"""What somebody runs today: understood by flags, and evaluated as planopt's own."""

import re
from collections.abc import Mapping

from msgspec.structs import replace

from planopt.catalog.open import Catalog, open_for
from planopt.documents.exchange import Elsewhere, ImportDocument
from planopt.errors import InputError
from planopt.exchange.hear import Hearing, defaults
from planopt.exchange.serving import Server, read_serving, speed_of
from planopt.exchange.tool import TOOLS, Tool, tool
from planopt.exchange.training import Run, read_training
from planopt.exchange.words import begun, content, settings, shell_words
from planopt.options import Asked

_QUANTISED = re.compile(
    r"(?i)\b(fp8|awq|gptq|autoround|nvfp4|mxfp4|w\da\d+|int[48]|[48]bit|exl[23])\b"
)


def read_command(what: str, **options: object) -> ImportDocument:
    """Understand a command line or a file of a tool, and evaluate what it runs."""
    asked = Asked("import", options)
    name = Asked("import", {"tool": asked.given.get("tool")}).values()["tool"]
    of = tool(str(name))
    text, document = content(what)
    hearing = Hearing(of)
    if document is not None:
        hearing.settings(settings(document))
    else:
        words, hearing.environment = shell_words(text)
        hearing.words(_program(of, words))
        if (file := hearing.terms.get("file")) is not None:
            _, beside_it = content(str(file))
            if beside_it is None:
                raise InputError.of("E006", "cannot read the file", value=file)
            hearing.settings(settings(beside_it))
    if hearing.problems:
        raise InputError(hearing.problems)
    for term, value in defaults(of, hearing.terms):
        hearing.terms.setdefault(term, value)
    beside = {key: each for key, each in asked.given.items() if key != "tool"}
    read = read_training if of.subject == "training" else read_serving
    catalog = open_for(asked)
    run = read(hearing, beside, catalog)
    found = _tried(of, run, beside, catalog)
    said = str(hearing.terms.get("model", ""))
    named = _QUANTISED.search(said) if of.subject == "serving" else None
    if named and "weights" not in found.options:
        told = f"`{said}` is called {named[0]}: say --weights, or it is as published"
        found = replace(found, remarks=(*found.remarks, told))
    heard = tuple(hearing.heard)
    return replace(found, flags=heard, environment=hearing.environment)


def _tried(
    of: Tool, run: Server | Run, beside: Mapping[str, object], catalog: Catalog
) -> ImportDocument:
    """Evaluate it on its accelerator, and on others; without any on all there are."""
    found = ImportDocument(
        tool=of.tool,
        version=of.version,
        kind=run.kind,
        model=run.model,
        flags=(),
        options={name: str(each) for name, each in run.options.items()},
        remarks=run.remarks,
    )
    others = beside.get("accelerators")
    if "accelerator" in beside:
        found = run.here(found, str(beside["accelerator"]))
    elif others is None:
        others = [each.id for each in catalog.list("accelerators")]
    names = others.split(",") if isinstance(others, str) else others or ()
    assert isinstance(names, (list, tuple))
    elsewhere = [_elsewhere(run, str(each)) for each in names]
    elsewhere.sort(key=lambda each: (not each.fits, -(each.tokens_per_second or 0)))
    return replace(found, elsewhere=tuple(elsewhere))


def _elsewhere(run: Server | Run, accelerator: str) -> Elsewhere:
    """Say in short what it does on another accelerator."""
    try:
        found, held = run.on(accelerator)
        why = None if found.feasible else found.rejections[0].message
    except InputError as error:
        why = error.diagnostics[0].message
    if why is not None:
        return Elsewhere(accelerator=accelerator, fits=False, why_not=why)
    speed = speed_of(found)
    return Elsewhere(
        accelerator=accelerator, fits=True, sequences=held, tokens_per_second=speed
    )


def _program(of: Tool, words: list[str]) -> list[str]:
    """Return what is said to the tool; say whose command it is if not its own."""
    found = begun(words, of.begins)
    if found is not None:
        begin, following = found
        launched = begun(words, (of.launcher,)) if of.launcher else None
        if launched is None:
            return following
        ahead = launched[1][: len(launched[1]) - len(following)]
        program = len(begin.split()) + (ahead[-2:-1] == ["-m"])
        return [*ahead[:-program], *following]
    others = (tool(each.stem) for each in sorted(TOOLS.glob("*.toml")))
    whose = next((each for each in others if begun(words, each.begins)), None)
    raise InputError.of(
        "E304",
        f"this is no command of {of.name}",
        field="--from",
        value=" ".join(words[:3]),
        accepted=", ".join(of.begins),
        help=f"it is one of {whose.name}: --from {whose.tool}" if whose else None,
    )
