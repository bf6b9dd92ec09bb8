"""Place of the counters of a state folder: a folder, or a PostgreSQL database.

``enrolment.json`` names the place and a random name of this enrolment; each shard's ledger
has counters of its own there. Enrolments of older versions counted the answers of a whole
ledger by the length of a file (:class:`LengthCounter`); they are migrated before they are served.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from devices.ledger.counter import NONCE_BYTES, Entry
from devices.ledger.counter_folder import FolderCounter
from devices.ledger.counter_postgres import ADDRESSES, PostgresCounter, check_address
from devices.ledger.rows import Head


def check_place(place: str, folder: Path) -> None:
    """Check where the counters of a state folder shall be.

    Raises:
        ValueError: for a folder inside the state folder, or an address that is not accepted.
    """
    if place.startswith(ADDRESSES):
        check_address(place)
    elif Path(place).resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"--counters {place}: inside {folder} they would be lost together with the ledger")


def new_place(place: str) -> dict[str, str]:
    """Return what ``enrolment.json`` says of the counters of a new enrolment."""
    where = place if place.startswith(ADDRESSES) else str(Path(place).resolve())
    return {"place": where, "name": os.urandom(16).hex()}


def counter_of(counters: Mapping[str, Any], shard: int) -> FolderCounter | PostgresCounter:
    """Return the counters of a shard's devices, by what ``enrolment.json`` says."""
    place, name = str(counters["place"]), f"{counters['name']}-{shard:04d}"
    return PostgresCounter(place, name) if place.startswith(ADDRESSES) else FolderCounter(Path(place) / f"{name}.count")


def make_counters(counters: Mapping[str, Any], shard: int, heads: Mapping[int, Head]) -> None:
    """Make the counters of a shard's devices, each with a new random number.

    Raises:
        OSError: where they cannot be made; FileExistsError where the folder has them already.
    """
    entries = {device: Entry(head, os.urandom(NONCE_BYTES)) for device, head in heads.items()}
    counter_of(counters, shard).create(entries)


def no_answers(devices: Iterable[int]) -> dict[int, Head]:
    """Return the heads of devices that were never asked."""
    return {device: Head() for device in devices}


class LengthCounter:
    """A counter of an older version: the length of a file is the least number of rows of a ledger.

    Args:
        head: Content of ``enrolment.json``.
        shard: Number of the ledger.
    """

    def __init__(self, head: Mapping[str, Any], shard: int) -> None:
        stem = Path(head["counter"])
        self.path = stem.with_name(f"{stem.name}-{shard:04d}.count")

    def read(self) -> int:
        """Return the number; OSError where it cannot be read."""
        return self.path.stat().st_size

    def successor(self) -> dict[str, str]:
        """Return what ``enrolment.json`` says after the migration.

        The name is the same for every copy of the folder: copies that are migrated share their counters.
        """
        return {"place": str(self.path.parent), "name": f"{self.path.name.rpartition('-')[0]}-heads"}
