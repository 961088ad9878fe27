"""Runs the tools' own parsers over exports: `make exports-parse`.

``write FOLDER`` exports the cases of the tests to every target; ``parse FOLDER`` hands
them to each tool that is installed where it runs, which need not be where planopt is.
"""

from __future__ import annotations

import importlib.util
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def write(folder: Path) -> None:
    """Write a folder for each target and case; what is refused by name is left out."""
    from exchanging import CASES, plan_of, with_pools

    from planopt.errors import InputError
    from planopt.exchange.export import export

    for to in PARSERS:
        for case, options in CASES.items():
            plan = with_pools(plan_of(**options), **options)
            try:
                made = export(plan, to)
            except InputError as error:
                fields = {each.field for each in error.diagnostics}
                print(f"{to}: {case} is refused for {', '.join(map(str, fields))}")
                continue
            for name in made.launched:
                file = folder / to / case.replace(" ", "-") / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(made.files[name], encoding="utf-8")


def _words(file: Path) -> list[str]:
    """Words behind the program of a script's last command."""
    line = file.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()[-1]
    words = shlex.split(line.partition("exec ")[2])
    return ["0" if each.startswith(("${", "$((")) else each for each in words]


def vllm(files: list[Path]) -> None:
    """Build the parser of `vllm serve` for a processor: it needs no card."""
    import vllm.platforms
    from vllm.platforms.cpu import CpuPlatform

    vllm.platforms._current_platform = CpuPlatform()
    from vllm.entrypoints.common.cli_args import (
        make_arg_parser,
        validate_parsed_serve_args,
    )
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    parser = make_arg_parser(FlexibleArgumentParser())
    for file in files:
        validate_parsed_serve_args(parser.parse_args(_words(file)[2:]))


def sglang(files: list[Path]) -> None:
    """Build the parser of `sglang.launch_server`."""
    import argparse

    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    for file in files:
        parser.parse_args(_words(file)[3:])


def skypilot(files: list[Path]) -> None:
    """Load tasks as `sky launch` does."""
    import sky

    for file in files:
        sky.Task.from_yaml(str(file))


def kubernetes(files: list[Path]) -> None:
    """Validate what is of Kubernetes itself."""
    import kubernetes_validate

    for file in files:
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
            kubernetes_validate.validate(document, "1.37", strict=True)


PARSERS: dict[str, tuple[str, Callable[[list[Path]], None]]] = {
    "vllm": ("vllm", vllm),
    "sglang": ("sglang", sglang),
    "skypilot": ("sky", skypilot),
    "k8s": ("kubernetes_validate", kubernetes),
}
"""Targets with the package that has their parser."""


def parse(folder: Path) -> Iterator[str]:
    """Hand each file to its tool; say which were taken, and how many."""
    for to, (package, parser) in PARSERS.items():
        endings = (".sh", ".yaml")
        files = [each for each in (folder / to).rglob("*") if each.suffix in endings]
        if importlib.util.find_spec(package) is None:
            yield f"{to}: {package} is not installed"
            continue
        parser(sorted(files))
        yield f"{to}: {len(files)} files taken by {package}"


if __name__ == "__main__":
    doing, where = sys.argv[1], Path(sys.argv[2])
    if doing == "write":
        write(where)
    else:
        for line in parse(where):
            print(line)
