"""Collections of a state folder that have no result yet: ``collection.json``, their ids by key.

An id stands there until its collection is closed: a run that was killed goes on with the same
collection, and devices that answered give the stored bytes.
"""

from __future__ import annotations

import json
from pathlib import Path

from ldpsim.devices.atomic_files import write_atomically

_NAME = "collection.json"


def ids(folder: Path) -> dict[str, str]:
    """Return the id of each open collection, by key."""
    path = folder / _NAME
    return dict(json.loads(path.read_text())) if path.is_file() else {}


def open_collection(folder: Path, key: str, wanted: str) -> str:
    """Return the id of the collection that is open under ``key``, or open ``wanted`` and return it."""
    collections = ids(folder)
    if key not in collections:
        collections[key] = wanted
        write_atomically(folder / _NAME, json.dumps(collections))
    return collections[key]


def close(folder: Path, key: str) -> None:
    """Forget the collection under ``key``."""
    collections = ids(folder)
    if collections.pop(key, None) is not None:
        if collections:
            write_atomically(folder / _NAME, json.dumps(collections))
        else:
            (folder / _NAME).unlink()
