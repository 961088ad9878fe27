"""Where chunks are evaluated (here, on Dask, on Ray), and what a worker does."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from planopt.catalog.open import Catalog, bundled_folder, catalog_digest
from planopt.door import written
from planopt.errors import InputError, needing
from planopt.sweeps.study import Chunk

Far: TypeAlias = Callable[[str, int, int, float | None], object]
"""Told by the core how far it is with a chunk."""

RETRIES = 10
"""How often a chunk is tried again when the worker that had it is lost."""

_ACCEPTED = "local, dask://HOST:PORT, ray://auto or ray://HOST:PORT"


def executor_on(place: str) -> AbstractContextManager[Executor]:
    """Open an executor, which leaves what it runs on as it was."""
    kind, _, address = place.partition("://")
    if place == "local":
        # The core lets go of the interpreter while it works: threads are enough.
        return ThreadPoolExecutor(len(os.sched_getaffinity(0)))
    if kind == "dask" and address:
        return _dask(address)
    if kind == "ray" and address:
        return _ray(address)
    raise InputError.of(
        "E001",
        f"nothing can be run on `{place}`",
        field="--on",
        value=place,
        accepted=_ACCEPTED,
    )


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    with needing("dask", "dask", accepted=_ACCEPTED, field="--on", value="dask"):
        import distributed
    with distributed.Client(f"tcp://{address}", set_as_default=False) as client:
        yield client.get_executor(pure=False, retries=RETRIES)


@contextmanager
def _ray(address: str) -> Iterator[Executor]:
    with needing("ray", "ray", accepted=_ACCEPTED, field="--on", value="ray"):
        import ray
    with _where_no_module_is():
        ray.init(
            address="auto" if address == "auto" else f"ray://{address}",
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    try:
        yield _Ray()
    finally:
        ray.shutdown()


@contextmanager
def _where_no_module_is() -> Iterator[None]:
    """Leave the current folder: Ray has its workers import from there first of all."""
    here = Path.cwd()
    os.chdir(bundled_folder())
    try:
        yield
    finally:
        os.chdir(here)


class _Ray(Executor):
    """Ray as an executor: a task whose worker dies is run again on another one."""

    def submit(
        self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Hand a task to the cluster."""
        import ray

        task = ray.remote(fn).options(num_cpus=1, max_retries=RETRIES)
        future: Future[Any] = task.remote(*args, **kwargs).future()
        return future


def evaluate(chunk: Chunk, catalog: tuple[str, ...], far: Far | None = None) -> bytes:
    """Evaluate every candidate of a chunk, on one thread; return its JSON."""
    case = chunk.case
    frozen = _frozen(catalog, case.assumptions, case.digest)
    native = frozen.native if far is None else frozen.native.watched(far)
    cut = {"start": chunk.start, "end": chunk.end}
    how = written({**cut, "exhaustive": True, "threads": 1})
    return native.front(written(case.request), how)


@lru_cache(maxsize=8)
def _frozen(overlays: tuple[str, ...], assumptions: str, digest: str) -> Catalog:
    """Open the catalog of this digest, which did not change while it was read."""
    before = catalog_digest(overlays, assumptions)
    opened = Catalog(overlays, assumptions)
    after = catalog_digest(overlays, assumptions)
    if not before == after == digest:
        raise InputError.of(
            "E009",
            "the catalog is another one than that of the study",
            field="catalog",
            value=after[:12],
            accepted=f"the catalog of digest {digest[:12]}, on every worker",
            help="install the same planopt everywhere; start again in a new folder "
            "if the catalog was changed",
        )
    return opened
