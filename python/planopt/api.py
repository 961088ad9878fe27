"""The public functions that ask for plans, and list what there is.

What not every question needs is imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from planopt.catalog.open import open_catalog
from planopt.errors import InputError
from planopt.options import Asked
from planopt.planning.pipeline import Serving, Training, answered

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from os import PathLike

    from typing_extensions import Unpack

    from planopt.catalog.entries import Entry
    from planopt.documents.plan import Plan, TrainingPlan
    from planopt.option_types import SolveOptions, TrainOptions
    from planopt.steps import Step
    from planopt.sweeps.run import SweepResult


def solve(
    model: str | None = None,
    /,
    *,
    on_progress: Callable[[Step], object] | None = None,
    **options: Unpack[SolveOptions],
) -> Plan:
    """Find what to buy or rent to serve a model.

    Parameters
    ----------
    model : str, optional
        Id of the catalog, Hugging Face id, or path of a ``config.json``.
    on_progress : callable, optional
        Told what is being done, and how far it is: ``print`` shows a line at a time.
    **options
        As of ``planopt solve``, with underscores: text with units (``"5tok/s"``) or
        numbers in SI units (seconds, bytes, watts, dollars, tokens per second).
        docs/reference/options.md has them all.

    Returns
    -------
    Plan
        Also where there is none: then its status is ``infeasible``, with why and the
        nearest changes.

    Raises
    ------
    InputError
        With a diagnostic for each option or file that cannot be used.
    Interrupted
        On Ctrl-C, with the best plan so far.

    Examples
    --------
    >>> import planopt
    >>> plan = planopt.solve("llama-2-70b", target="5tok/s", budget=20_000)
    >>> plan.status, plan.price_usd <= 20_000
    ('optimal', True)
    """
    asked = Asked.by_user("solve", _about(model, options))
    return answered(Serving(), asked, on_progress)


def train(
    model: str | None = None,
    /,
    *,
    on_progress: Callable[[Step], object] | None = None,
    **options: Unpack[TrainOptions],
) -> TrainingPlan:
    """Find the cheapest cluster that trains a model in time, or the fastest for a sum.

    Parameters
    ----------
    model : str, optional
        Id of the catalog, Hugging Face id, or path of a ``config.json``.
    on_progress : callable, optional
        Told what is being done, and how far it is: ``print`` shows a line at a time.
    **options
        As of ``planopt train``, with underscores: text with units (``"2T"``, ``"30d"``)
        or numbers in SI units. docs/reference/options.md has them all.

    Returns
    -------
    TrainingPlan
        Also where there is none: then its status is ``infeasible``, with why and the
        nearest changes.

    Raises
    ------
    InputError
        With a diagnostic for each option or file that cannot be used.
    Interrupted
        On Ctrl-C, with the best plan so far.

    Examples
    --------
    >>> import planopt
    >>> plan = planopt.train(tokens="2T", deadline="30d", accelerators="a100-sxm-80")
    >>> plan.status
    'optimal'
    """
    asked = Asked.by_user("train", _about(model, options))
    return answered(Training(), asked, on_progress)


def sweep(
    study: str | PathLike[str],
    *,
    out: str | PathLike[str],
    on: str = "local",
    executor: Executor | None = None,
    catalog: str | PathLike[str] | Sequence[str] = (),
    on_progress: Callable[[Step], object] | None = None,
) -> SweepResult:
    """Evaluate every candidate of a study, and keep the front of each case.

    Parameters
    ----------
    study : str or PathLike
        File of the study.
    out : str or PathLike
        Folder of its parts. Finished ones are skipped.
    on : str
        ``local``, ``dask://HOST:PORT``, ``ray://auto`` or ``ray://HOST:PORT``.
    executor : concurrent.futures.Executor, optional
        Any executor, in place of `on`; its tasks can be pickled.
    catalog : str, PathLike or sequence of str
        Overlay folders, which workers must see under the same path.
    on_progress : callable, optional
        Told how many candidates of this run are done, and of how many.

    Returns
    -------
    SweepResult

    Raises
    ------
    InputError
        For what cannot be read, is not installed, or a folder of another study.

    Examples
    --------
    >>> import planopt
    >>> found = planopt.sweep("study.toml", out="results")
    >>> found.candidates == found.evaluated + found.rejected
    True
    """
    from planopt.sweeps.run import sweep as run

    return run(
        str(study),
        out=str(out),
        on=on,
        executor=executor,
        catalog=_folders(catalog),
        on_progress=on_progress,
    )


def models(*, catalog: str | PathLike[str] | Sequence[str] = ()) -> tuple[Entry, ...]:
    """List the models that there are.

    Parameters
    ----------
    catalog : str, PathLike or sequence of str
        Overlay folders, laid over the bundled catalog.

    Returns
    -------
    tuple of Entry
        ``id`` and ``name`` of each.

    Raises
    ------
    InputError
        With a diagnostic for each file that cannot be used.

    Examples
    --------
    >>> import planopt
    >>> "llama-3.1-8b" in {model.id for model in planopt.models()}
    True
    """
    return open_catalog(_folders(catalog)).list("models")


def accelerators(
    *, catalog: str | PathLike[str] | Sequence[str] = ()
) -> tuple[Entry, ...]:
    """List the accelerators that there are.

    Parameters
    ----------
    catalog : str, PathLike or sequence of str
        Overlay folders, laid over the bundled catalog.

    Returns
    -------
    tuple of Entry
        ``id`` and ``name`` of each.

    Raises
    ------
    InputError
        With a diagnostic for each file that cannot be used.

    Examples
    --------
    >>> import planopt
    >>> [card.name for card in planopt.accelerators() if card.id == "rtx-4090"]
    ['GeForce RTX 4090']
    """
    return open_catalog(_folders(catalog)).list("accelerators")


def _about(model: str | None, options: Mapping[str, object]) -> dict[str, object]:
    """Put the model among the options, where it comes first."""
    if model is None:
        return dict(options)
    if options.get("model") is not None:
        raise InputError.of(
            "E004",
            "two models are named",
            field="--model",
            value=options["model"],
            accepted="one of the two",
        )
    return {"model": model, **options}


def _folders(catalog: str | PathLike[str] | Sequence[str]) -> tuple[str, ...]:
    """Take one folder or several."""
    if isinstance(catalog, (list, tuple)):
        return tuple(map(str, catalog))
    return (str(catalog),)
