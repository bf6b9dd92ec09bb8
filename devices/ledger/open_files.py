"""Identity of the files that SQLite has open.

A file that was removed or replaced while it is open takes writes that nobody finds again: they end with the process.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


class OpenFiles:
    """The files of an open database, by device and inode.

    Args:
        path: The database.
        endings: What stands behind its name in the names of its files.

    Raises:
        OSError: where one of them is not there.
    """

    def __init__(self, path: Path, endings: Sequence[str]) -> None:
        self._names = [f"{path}{ending}" for ending in endings]
        self._found = self._identities()

    def _identities(self) -> list[tuple[int, int]]:
        return [(status.st_dev, status.st_ino) for status in map(os.stat, self._names)]

    def check(self) -> None:
        """Raise OSError where another file, or none, has one of the names by now."""
        if self._identities() != self._found:
            raise OSError(f"{self._names[0]} or a file beside it was replaced while it was open")
