"""Place of the counters of a state folder: a folder on a disk of this machine, or a PostgreSQL database.

``enrolment.json`` names the place and a random name of this enrolment; each shard's ledger
has counters of its own there.

A folder's counters rely on file locks. Where the folder belongs to another machine, a lock may hold for the processes
of one machine alone, and copies on two machines would both answer. So such a folder is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from ldpsim.devices.ledger.counter import NONCE_BYTES, Entry
from ldpsim.devices.ledger.counter_folder import FolderCounter
from ldpsim.devices.ledger.counter_postgres import ADDRESSES, PostgresCounter, check_address
from ldpsim.devices.ledger.rows import Head

# File systems of one machine. Its kernel keeps all locks, so they hold for everybody who reaches a file.
_LOCAL = frozenset((
    "apfs", "aufs", "bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "fuseblk", "hfs", "jfs", "nilfs2",
    "ntfs3", "overlay", "ramfs", "reiserfs", "tmpfs", "ubifs", "vfat", "xfs", "zfs",
))  # fmt: skip


def check_place(place: str, folder: Path) -> None:
    """Check where the counters of a state folder shall be.

    Raises:
        ValueError: for a folder inside the state folder or of another machine, or an address that is not accepted.
    """
    if place.startswith(ADDRESSES):
        check_address(place)
    elif Path(place).resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"--counters {place}: inside {folder} they would be lost together with the ledger")
    else:
        _check_locks(place)


def _check_locks(place: str) -> None:
    kind = file_system(place)
    if kind not in _LOCAL | {""}:
        raise ValueError(
            f"--counters {place}: a file system ({kind}) whose locks may hold on one machine alone; name a folder on a "
            "disk of this machine, or PostgreSQL (postgresql://...)"
        )


def file_system(path: str) -> str:
    """Return the kind of the file system that a path is on, also where it is yet to be made; empty if nobody says."""
    import psutil

    there, mounts = Path(os.path.realpath(path)), psutil.disk_partitions(all=True)
    around = [(len(mount.mountpoint), mount.fstype) for mount in mounts if there.is_relative_to(mount.mountpoint)]
    return max(reversed(around), key=lambda entry: entry[0], default=(0, ""))[1]  # of several at one point the last


def new_place(place: str, folder: Path) -> dict[str, str]:
    """Return what ``enrolment.json`` says of the counters of a new enrolment; ValueError as :func:`check_place`."""
    check_place(place, folder)
    where = place if place.startswith(ADDRESSES) else str(Path(place).resolve())
    return {"place": where, "name": os.urandom(16).hex()}


def counter_of(counters: Mapping[str, Any], shard: int) -> FolderCounter | PostgresCounter:
    """Return the counters of a shard's devices, by what ``enrolment.json`` says.

    Raises:
        ValueError: for a folder of another machine.
    """
    place, name = str(counters["place"]), f"{counters['name']}-{shard:04d}"
    if place.startswith(ADDRESSES):
        return PostgresCounter(place, name)
    _check_locks(place)
    return FolderCounter(Path(place) / f"{name}.count")


def make_counters(counters: Mapping[str, Any], shard: int, devices: Iterable[int]) -> None:
    """Make the counters of a shard's devices, which were never asked, each with a new random number.

    Raises:
        OSError: where they cannot be made; FileExistsError where the folder has them already.
    """
    entries = {device: Entry(Head(), os.urandom(NONCE_BYTES)) for device in devices}
    with closing(counter_of(counters, shard)) as counter:
        counter.create(entries)
