"""Counter of answers, kept apart from the ledger. It reveals a ledger that is an old copy.

A ledger that was deleted, put back from a backup or copied along with its folder looks
like any good ledger. The counter is raised after each commit and before the reply leaves.
A ledger with fewer answers than the counter has lost some: the device answers
``LEDGER_DAMAGED``, to everything. A ledger with more answers was committed just before a
crash, and no reply of that commit left.

The counter has to be in a place that is not rolled back, copied or deleted together with
the state folder.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Protocol

from devices.atomic_files import make_durable


class MonotonicCounter(Protocol):
    """A number that can be raised and never lowered; a secure element may offer one."""

    def read(self) -> int:
        """Return the number.

        Raises:
            OSError: where it cannot be read, or is not there.
        """

    def raise_to(self, value: int) -> None:
        """Make it at least ``value``, durably, before returning.

        Raises:
            OSError: where it cannot be written.
        """


class FileCounter:
    """A counter that is the length of a file.

    A length is never half written, and can be raised by several processes at once.

    Args:
        path: The file; :meth:`create` makes it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self) -> None:
        """Make the counter at 0; OSError where there is one already, or it cannot be made."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        make_durable(self.path.parent)

    def read(self) -> int:
        """Return the number."""
        return self.path.stat().st_size

    def raise_to(self, value: int) -> None:
        """Make it at least ``value``, on disk before this returns."""
        handle = os.open(self.path, os.O_WRONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)  # else a slower process could cut off what a faster one added
            if os.fstat(handle).st_size < value:
                os.ftruncate(handle, value)
                os.fsync(handle)
        finally:
            os.close(handle)
