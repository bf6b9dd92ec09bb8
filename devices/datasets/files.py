"""Files of a data set, their download, and the message when some are missing.

Files on disk are used first. A download is kept in memory until all files of the form are there, so a broken one
leaves nothing behind. Otherwise the data folder is only read.
"""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ldpsim.devices.atomic_files import PASSED_AROUND, write_atomically
from ldpsim.devices.data.population import Population

SECONDS = 5.0  # that the publisher may stay silent


@dataclass(frozen=True)
class Form:
    """One form in which a data set may lie on disk.

    Args:
        folder: Folder below the data folder, "." for itself.
        files: All files it needs.
        read: Makes the population from the data set's name and the paths of the files.
        blobs: The hash that git gives the original, beside the name of a file.
    """

    folder: str
    files: tuple[str, ...]
    read: Callable[..., Population]
    blobs: tuple[tuple[str, str], ...] = ()

    def paths(self, root: Path) -> list[Path]:
        """Return where the files are below the data folder."""
        return [root / self.folder / name for name in self.files]

    def check_files(self, root: Path) -> None:
        """Check the files that have a hash; ValueError for one that is not the original."""
        for name, original in self.blobs:
            content = (root / self.folder / name).read_bytes()
            blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
            if blob != original:
                raise ValueError(
                    f"{root / self.folder / name} is not the original: git gives it the hash {blob}, not {original}"
                )


@dataclass(frozen=True)
class DatasetEntry:
    """A data set: a line of ``ldpsim datasets``.

    Args:
        name: Name on the command line.
        people: What a person is, and the class.
        source: Publisher and address.
        licence: Licence of the data, and who states it.
        nodes, edges, features, classes: Its published size.
        forms: Forms on disk; the first complete one is read.
        url: Address below which the files of the first form can be downloaded; empty if there is none.
        digest: Digest of the population (:attr:`ldpsim.devices.data.population.Population.digest`), whatever the form;
            empty where it is not checked.
    """

    name: str
    people: str
    source: str
    licence: str
    nodes: int
    edges: int
    features: int
    classes: int
    forms: tuple[Form, ...]
    url: str = ""
    digest: str = ""

    def find(self, root: Path) -> Form | None:
        """Return the first form that is complete below ``root``."""
        return next((form for form in self.forms if all(path.is_file() for path in form.paths(root))), None)


def default_root() -> Path:
    """Return the data folder where none is named: ``LDPSIM_DATA``, else the user's cache."""
    if os.environ.get("LDPSIM_DATA"):
        return Path(os.environ["LDPSIM_DATA"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ldpsim" / "datasets"


def locate(entry: DatasetEntry, root: Path) -> Form:
    """Return a form of the data set that is complete on disk, downloading it if need be.

    Raises:
        ValueError: one line with the folder, the files, the source and why no download
            was possible.
    """
    form = entry.find(root)
    if form is not None:
        return form
    if not entry.url:
        raise ValueError(_absent(entry, root, "there is no automatic download"))
    form = entry.forms[0]
    try:
        contents = [_download(f"{entry.url}/{name}") for name in form.files]
        (root / form.folder).mkdir(parents=True, exist_ok=True)
        for path, content in zip(form.paths(root), contents, strict=True):
            write_atomically(path, content, mode=PASSED_AROUND)
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(_absent(entry, root, f"the download failed: {reason}")) from error
    return form


def _download(address: str) -> bytes:
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        error.close()  # it is the server's answer, and holds the connection
        raise


def _absent(entry: DatasetEntry, root: Path, reason: str) -> str:
    """Return the line that tells a person which files to put where."""
    ways = [
        f"{root / form.folder}: {', '.join(path.name for path in form.paths(root) if not path.is_file())}"
        for form in entry.forms
    ]
    return (
        f"{entry.name}: not on disk, and {reason}; put its files there, or name their folder with --data-dir; "
        f"files of {'; or of '.join(ways)}; source: {entry.source}"
    )
