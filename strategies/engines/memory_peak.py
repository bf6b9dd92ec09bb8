"""Largest resident memory of this process, of a whole run and of its phases.

The kernel keeps one mark for a process: its largest resident size. On Linux the mark can be lowered to the present
size, so that a phase has a peak of its own. It is lowered here alone: the largest mark of the earlier phases is kept,
and so the peak of a run is the largest of its phases.
"""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

_STATUS, _LOWER = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_earlier = 0  # bytes, the largest mark that was lowered


def peak_rss() -> int:
    """Return the largest resident size since the process began, or since :func:`forget_peak`, in bytes."""
    return max(_earlier, _mark())


def phase_peak() -> int:
    """Return the largest resident size since the last call, in bytes, and begin the next phase.

    Where the mark cannot be lowered (other systems than Linux) it is that of the whole process so far.
    """
    global _earlier
    mark = _mark()
    _earlier = max(_earlier, mark)
    _lower()
    return mark


def forget_peak() -> None:
    """Begin anew: what the process needed before, for other runs, does not count any more."""
    global _earlier
    _earlier = 0
    _lower()


def _mark() -> int:
    # Not ru_maxrss first: a new process inherits there what its parent needed.
    with suppress(OSError, IndexError):
        return int(_STATUS.read_text().split("VmHWM:")[1].split()[0]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most if sys.platform == "darwin" else most * 1024)


def _lower() -> None:
    with suppress(OSError):
        _LOWER.write_text("5")
