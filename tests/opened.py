"""Files that this process has open, as Linux tells them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def open_below(folder: Path) -> set[str]:
    """Return the files below a folder that this process has open, also those that have no name any more."""
    found = set()
    for handle in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the handle of this very list
            found.add(os.readlink(f"/proc/self/fd/{handle}"))
    return {path for path in found if path.startswith(f"{folder}/")}
