"""Environment of a measured process, and the line about the machine that stands beside a figure."""

from __future__ import annotations

import os
import platform

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def beside() -> str:
    """Return what stands beside a figure: cores, load and Python."""
    return f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"
