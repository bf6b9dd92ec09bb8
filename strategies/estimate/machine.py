"""This machine: memory that a run may use, and its speed beside the one on which the constants were measured."""

from __future__ import annotations

import hashlib
import hmac
import platform
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
from scipy.sparse import random_array

_CGROUP = Path("/sys/fs/cgroup/memory.max")


def memory_bytes() -> int:
    """Return the memory of this machine, or of the container that the process runs in."""
    total = psutil.virtual_memory().total
    with suppress(OSError, ValueError):
        total = min(total, int(_CGROUP.read_text()))
    return int(total)


def machine_in_words() -> str:
    """Return the machine in one line: kind, cores and memory."""
    return f"{platform.machine()}, {psutil.cpu_count()} cores, {memory_bytes() / 2**30:.0f} GiB"


def calibration() -> float:
    """Return the CPU seconds of a small mixed load, about 0.2: hashes, integers and a sparse product.

    The least of three is taken, since other work on the machine can only make a part slower.
    """
    return min(_load() for _ in range(3))


def _load() -> float:
    rng = np.random.default_rng(0)
    matrix, dense = random_array((4000, 4000), density=0.002, rng=rng, format="csr"), rng.random((4000, 32))
    started = time.process_time()
    for number in range(6000):
        hmac.digest(b"key", number.to_bytes(4, "little"), hashlib.sha256)
    words = np.arange(400_000, dtype=np.uint64)
    for _ in range(8):
        np.flatnonzero(words * np.uint64(0x9E3779B97F4A7C15) < np.uint64(1 << 60))
    for _ in range(8):
        matrix @ dense
    return time.process_time() - started
