"""The machine that planopt runs on: its processor and its memory."""

import os
import platform
from pathlib import Path


def processor_name() -> str:
    """Model of the processor, as the system knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for line in lines:
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model") and value.strip():
            return value.strip()
    return platform.processor() or platform.machine() or "processor"


def held_bytes() -> int | None:
    """Memory that this process holds, where the system says so."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def host_memory_bytes() -> int:
    """Memory of the host."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
