"""Files of a data set, and the message when some are missing.

Files on disk are used first. If some are missing, the data set class that publishes them
downloads them into a temporary folder, so a broken download leaves nothing behind.
Otherwise the data folder is only read; PyG's ``processed/`` folders are never written there.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ldpsim.devices.data.population import Population

PROBE_SECONDS = 5.0


@dataclass(frozen=True)
class Form:
    """One form in which a data set may lie on disk.

    Args:
        folder: Folder below the data folder, "." for itself.
        files: All files it needs.
        read: Makes the population from (data set name, the folder).
    """

    folder: str
    files: tuple[str, ...]
    read: Callable[[str, Path], Population]


@dataclass(frozen=True)
class DatasetEntry:
    """A data set: a line of ``ldpsim datasets``.

    Args:
        name: Name on the command line.
        source: Publisher and address.
        nodes, edges, features, classes: Its published size.
        forms: Forms on disk; the first complete one is read.
        fetch: Downloads the first form below a folder, through PyG's or OGB's own class;
            None if no class does that.
        probe: Address that answers if the download can work.
        note: Further hint for a data folder in which files are missing.
    """

    name: str
    source: str
    nodes: int
    edges: int
    features: int
    classes: int
    forms: tuple[Form, ...]
    fetch: Callable[[Path], object] | None = None
    probe: str = ""
    note: Callable[[Path], str] | None = None

    def find(self, root: Path) -> Form | None:
        """Return the first form that is complete below ``root``."""
        return next((form for form in self.forms if not missing(root, form)), None)


def default_root() -> Path:
    """Return the data folder where none is named: ``LDPSIM_DATA``, else the user's cache."""
    if os.environ.get("LDPSIM_DATA"):
        return Path(os.environ["LDPSIM_DATA"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ldpsim" / "datasets"


def missing(root: Path, form: Form) -> list[str]:
    """Return the names of the files of a form that are not below ``root``."""
    return [name for name in form.files if not (root / form.folder / name).is_file()]


def locate(entry: DatasetEntry, root: Path) -> Form:
    """Return a form of the data set that is complete on disk, downloading it if need be.

    Raises:
        ValueError: one line with the folder, the files, the source and why no download
            was possible.
    """
    form = entry.find(root)
    if form is not None:
        return form
    if entry.fetch is None:
        raise ValueError(absent(entry, root, "there is no automatic download"))
    form = entry.forms[0]
    try:
        # probe first, because a download class may wait for minutes on a dead network
        with urllib.request.urlopen(urllib.request.Request(entry.probe, method="HEAD"), timeout=PROBE_SECONDS):
            pass
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=root) as scratch:
            entry.fetch(Path(scratch))
            target = root / form.folder
            target.mkdir(parents=True, exist_ok=True)
            for name in form.files:
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.move(Path(scratch) / form.folder / name, target / name)
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(absent(entry, root, f"the download failed: {reason}")) from error
    return form


def absent(entry: DatasetEntry, root: Path, reason: str) -> str:
    """Return the line that tells a person which files to put where."""
    distinct = {form.files: form for form in reversed(entry.forms)}.values()
    ways = [f"{', '.join(missing(root, form))} into {root / form.folder}" for form in reversed(distinct)]
    note = f" ({entry.note(root)})" if entry.note and entry.note(root) else ""
    return (
        f"{entry.name}: not on disk, and {reason}; put {'; or '.join(ways)}{note}; source: {entry.source}; "
        "--data-dir or LDPSIM_DATA names another folder"
    )
