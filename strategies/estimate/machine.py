"""Memory of this machine that a run may use."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import psutil

_CGROUP = Path("/sys/fs/cgroup/memory.max")


def memory_bytes() -> int:
    """Return the memory of this machine, or of the container that the process runs in."""
    total = psutil.virtual_memory().total
    with suppress(OSError, ValueError):
        total = min(total, int(_CGROUP.read_text()))
    return int(total)
