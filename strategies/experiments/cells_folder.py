"""Folder of a sweep or of a comparison, chosen by its cells: one of other cells is left as it is.

``cells.json`` in the folder has the config hash of each cell, by label. A folder is taken if it is new, or if it
shares a cell with those that are to run: a sweep goes on, or its file was changed. The name alone does not identify
the folder: two sweep files may have one name, and data in a file may change. If the folder belongs to others, the first
free number is taken: ``sweep-grid-2``.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ldpsim.devices.atomic_files import exclusive_lock, write_atomically
from ldpsim.strategies.results import folder as run_folder

CELLS = "cells.json"
Digests = Mapping[str, str | None]  # label -> config hash; None for a cell that cannot run


@contextmanager
def hold_cells(folder: Path, cells: Digests) -> Iterator[Path]:
    """Hold the folder of these cells: ``folder``, or the first numbered one beside it that does not belong to others.

    Raises:
        ValueError: one line, if it cannot be written, or if another process works in it.
    """
    numbered = (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    place = next(place for place in itertools.chain([folder], numbered) if _is_ours(place, cells))
    run_folder.prepare(place)
    with ExitStack() as stack:
        try:
            stack.enter_context(exclusive_lock(place, wait=False))
        except BlockingIOError:
            raise ValueError(f"{place}: another sweep or comparison is using this folder") from None
        path, text = place / CELLS, json.dumps(cells, indent=1) + "\n"
        if not path.exists():
            write_atomically(path, text)
        elif not _is_ours(place, cells):
            raise ValueError(f"{place}: another sweep or comparison has just taken this folder")
        yield place
        write_atomically(path, text)


def _is_ours(folder: Path, cells: Digests) -> bool:
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
    return not {*earlier.values()}.isdisjoint({*cells.values()} - {None})
