"""Errors of a disk that is full."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ldpsim.devices.atomic_files import DISK_FULL

ANSWER_BYTES = 4096  # that a ledger and its write-ahead log take for an answer, roughly
_TEXTS = ("no space left on device", "os error 28", "disk is full", "requested and")  # of libraries without an errno


def check_refused(folder: Path, refused: int) -> None:
    """Check whether devices could not write their ledgers because the disk is full.

    Args:
        folder: Their folder.
        refused: Number of devices that answered ``LEDGER_DAMAGED``.

    Raises:
        OSError: if their answers have no room.
    """
    if refused and shutil.disk_usage(folder).free < refused * ANSWER_BYTES + (1 << 16):
        reason = (
            f"No space left on device: {refused:,} devices could not answer; free some, and the same command goes on"
        )
        raise OSError(errno.ENOSPC, reason, str(folder))


@contextmanager
def naming_full_disk(folder: Path, *, but: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Name a folder in the error of a full disk that names no path; libraries raise many kinds of it.

    Args:
        folder: The folder that is written to.
        but: Errors that name their own path.

    Raises:
        OSError: with the folder as its path.
    """
    try:
        yield
    except but:
        raise
    except Exception as error:
        if isinstance(error, OSError) and (error.filename or error.errno not in (None, *DISK_FULL)):
            raise
        full = isinstance(error, OSError) and error.errno in DISK_FULL
        full |= isinstance(error, sqlite3.Error) and error.sqlite_errorcode == sqlite3.SQLITE_FULL
        if not full and not any(text in str(error).lower() for text in _TEXTS):
            raise
        raise OSError(errno.ENOSPC, "No space left on device", str(folder)) from error
