"""Commands from the table of options: parameters, panels of the help, completion."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from typer.core import TyperArgument, TyperCommand, TyperOption

from planopt.cli.output import Answer, show

if TYPE_CHECKING:
    from planopt.options import Option

_LISTED = ("accelerators", "hosts", "links", "networks", "models", "workloads")
"""What names are of that the catalog lists."""

Body: TypeAlias = Callable[..., "Answer | None"]
"""A command: gets what was given as keyword arguments, returns what it answers."""


def argument(
    name: str,
    metavar: str,
    help: str | None = None,
    *,
    required: bool = True,
    several: bool = False,
) -> TyperArgument:
    """Make an argument that has no flag."""
    return TyperArgument(
        param_decls=[name],
        metavar=metavar,
        help=help,
        required=required,
        nargs=-1 if several else 1,
        type=str,
    )


class Command(TyperCommand):
    """A command whose options are those of the table, read once they are asked for."""

    def __init__(
        self,
        path: str,
        body: Body,
        arguments: Iterable[TyperArgument] = (),
        **settings: Any,
    ) -> None:
        super().__init__(
            path.split()[-1],
            callback=lambda **said: self._run(body, **self._given(said)),
            help=inspect.cleandoc(body.__doc__ or ""),
            rich_markup_mode=None,
            **settings,
        )
        self.path = path
        self.arguments = list(arguments)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, made of the table once they are asked for."""
        if not self.params:
            from planopt.options import taken_by

            options = taken_by(self.path).values()
            self.params = [*self.arguments, *map(_Option, options)]
            self.params += [
                _hidden(name, each) for each in options for name in each.hidden
            ]
        return super().get_params(ctx)

    def _run(self, body: Body, *, json: bool = False, **given: object) -> int | None:
        """Write what a command answers, and return its exit code."""
        answered = body(**given)
        if answered is None:
            return None
        show(answered, json=json)
        return answered.code

    def _given(self, said: Mapping[str, Any]) -> dict[str, Any]:
        """Keep what was given; several values are a list."""
        usual = {each.name: each.default for each in self.params}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in said.items()
            if value not in (None, (), [])
            and not (isinstance(value, bool) and value == usual.get(name))
        }

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options by panel."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            panel = getattr(parameter, "panel", None) or (
                "Arguments" if isinstance(parameter, TyperArgument) else "Output"
            )
            if row is not None:
                panels.setdefault(panel, []).append(row)
        for panel, rows in panels.items():
            with formatter.section(panel):
                formatter.write_dl(rows)


class _Option(TyperOption):
    """An option of the table."""

    def __init__(self, option: "Option") -> None:
        on = option.kind == "switch" and option.default == "yes"
        written = option.panel == "Output" or None
        super().__init__(
            param_decls=[
                option.argument,
                f"{option.flag}/--no-{option.name}" if on else option.flag,
            ],
            type=bool if option.kind == "switch" else str,
            is_flag=option.kind == "switch" or None,
            default=on if option.kind == "switch" else written and option.default,
            required=bool(written and option.required),
            multiple=option.repeat or option.kind == "files",
            metavar=option.metavar or None,
            help=option.says,
            autocompletion=lambda incomplete: _completed(option, incomplete),
        )
        self.panel = option.panel


def _hidden(name: str, option: "Option") -> TyperOption:
    """Make what stands for an option, and is not told of."""
    is_switch = name in option.switches
    return TyperOption(
        param_decls=[name.replace("-", "_"), f"--{name}"],
        type=bool if is_switch else str,
        is_flag=is_switch or None,
        default=False if is_switch else None,
        multiple=option.repeat,
        hidden=True,
    )


def _completed(option: "Option", incomplete: str) -> list[str]:
    from planopt._native import formats
    from planopt.catalog.open import open_catalog
    from planopt.options import completed

    if option.of == "formats":
        return completed(option, incomplete, formats())
    listed = open_catalog().list(option.of) if option.of in _LISTED else ()
    return completed(option, incomplete, [entry.id for entry in listed])
