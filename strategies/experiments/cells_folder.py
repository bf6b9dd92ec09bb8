"""Folder of a sweep or of a comparison, chosen by its cells: one of other cells is left as it is.

``cells.json`` in the folder has the config hash of each cell, by label. It is written when the folder is new, and
again when its table is. The name alone does not identify the folder: two sweep files may have one name, and data in
a file may change. If the folder belongs to others, the first free number is taken: ``sweep-grid-2``.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ldpsim.devices.atomic_files import exclusive_lock, write_atomically
from ldpsim.strategies.results import folder as run_folder

CELLS = "cells.json"
Digests = Mapping[str, str | None]  # label -> config hash; None for a cell that cannot run
GoesOn = Callable[[Digests, Digests], bool]  # whether the second goes on with the first, and keeps what it shows


def anything(earlier: Digests, now: Digests) -> bool:
    """Return True: the folder was made for these cells."""
    return True


def has_all_of(earlier: Digests, now: Digests) -> bool:
    """Return whether ``now`` has every cell of ``earlier``: a comparison goes on, or gets one more method.

    >>> has_all_of({"hogs": "a1"}, {"hogs": "a1", "raw": "b2"}), has_all_of({"hogs": "a1"}, {"hogs": "c3"})
    (True, False)
    """
    return all(label in now and digest in (None, now[label]) for label, digest in earlier.items())


def has_some_of(earlier: Digests, now: Digests) -> bool:
    """Return whether they share a cell: the file of a sweep was changed. Without one there is nothing to go on with.

    >>> has_some_of({"seed=0": "a1", "seed=1": "b2"}, {"seed=1": "b2"}), has_some_of({"seed=0": "a1"}, {"x": None})
    (True, False)
    """
    return not {*earlier.values()}.isdisjoint({*now.values()} - {None})


@contextmanager
def hold_cells(folder: Path, cells: Digests, goes_on: GoesOn) -> Iterator[Path]:
    """Hold the folder of these cells: ``folder``, or the first numbered one beside it that does not belong to others.

    Raises:
        ValueError: one line, if it cannot be written, or if another process works in it on these cells.
    """
    for place in itertools.chain([folder], (folder.with_name(f"{folder.name}-{n}") for n in itertools.count(2))):
        if not _is_ours(place, cells, goes_on):
            continue
        run_folder.prepare(place)
        with _locked(place):
            if not _is_ours(place, cells, goes_on):  # another process wrote it before the lock
                continue
            path, text = place / CELLS, json.dumps(cells, indent=1) + "\n"
            if not path.exists():
                write_atomically(path, text)
            yield place
            write_atomically(path, text)
            return


def _is_ours(folder: Path, cells: Digests, goes_on: GoesOn) -> bool:
    """Return whether a folder is free for these cells; ValueError if nobody can say whose it is."""
    path = folder / CELLS
    try:
        earlier = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        earlier = None
    if not isinstance(earlier, dict):
        raise ValueError(f"{path}: cannot be read, so nobody knows whose results are in this folder")
    return goes_on(earlier, cells)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the folder. The system releases the lock when this process ends."""
    with ExitStack() as stack:
        try:
            stack.enter_context(exclusive_lock(folder, wait=False))
        except BlockingIOError:
            raise ValueError(f"{folder}: another sweep or comparison is using this folder") from None
        yield
