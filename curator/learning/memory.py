"""How much memory there is: methods that need n x n of it ask before anybody else is asked."""

from __future__ import annotations

import os


def available_memory() -> int:
    """Bytes of memory that are free now; all there are where the system does not say."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
