"""Files that are read up to a size, and written as a whole or not at all."""

from __future__ import annotations

import csv
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from planopt.errors import InputError

LARGEST_BYTES = 64 * 2**20
"""What no plan, study, table of prices or result of a benchmark comes near."""


def read(path: str | Path) -> bytes:
    """Read a file, or what is piped in, up to `LARGEST_BYTES`, or an ``OSError``."""
    # Whoever opens a pipe that nobody writes into would wait for ever.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 - a descriptor
        if hasattr(os, "set_blocking"):
            os.set_blocking(file.fileno(), True)
        content = file.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {LARGEST_BYTES // 2**20} MiB")
    return content


def write(path: str | Path, text: str, *, field: str | None = None) -> None:
    """Write a text to a file, in UTF-8; see `replacing`."""
    with replacing(path, field=field) as file:
        file.write(text.encode("utf-8"))


@contextmanager
def replacing(path: str | Path, *, field: str | None = None) -> Iterator[IO[bytes]]:
    """Open a file that takes the place of another once it is whole and on the disk.

    Until then, and for good where that fails, there is what was there before.
    Links are followed and permissions kept. What is no file of a disk, such as
    ``/dev/stdout`` or a pipe, has no other beside it and is written as it is.
    """
    with unwritable(path, field=field), _opened(Path(path)) as file:
        yield file


@contextmanager
def unreadable(what: str, accepted: str, **place: str | Path) -> Iterator[None]:
    """Make what is wrong with a file that is read an error of planopt, E006."""
    try:
        yield
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = getattr(error, "strerror", None) or error
        message = f"cannot read {what}: {why}"
        told = {name: str(each) for name, each in place.items()}
        raise InputError.of("E006", message, accepted=accepted, **told) from error


@contextmanager
def unwritable(path: str | Path, *, field: str | None = None) -> Iterator[None]:
    """Make what the system says of a file or folder an error of planopt, E006."""
    try:
        yield
    except OSError as error:
        raise InputError.of(
            "E006",
            f"cannot write: {error.strerror or error}",
            field=field,
            value=path,
            accepted="what is in a folder that can be written to, with room left",
        ) from error


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    known = None
    with suppress(FileNotFoundError):
        known = path.stat()
    if known is not None and not stat.S_ISREG(known.st_mode):
        with path.open("wb") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    if known is not None:
        # What must not be written must not be replaced either.
        os.close(os.open(target, os.O_WRONLY))
    # Not named after the target: names of files have a greatest length.
    temporary = target.with_name(f".planopt-{os.urandom(8).hex()}.tmp")
    try:
        with temporary.open("xb") as file:
            if known is not None:
                with suppress(OSError):  # Only root may give a file to others.
                    os.fchown(file.fileno(), known.st_uid, known.st_gid)
                os.fchmod(file.fileno(), stat.S_IMODE(known.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
