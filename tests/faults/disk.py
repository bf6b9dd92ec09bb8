"""Disks of the simulator: real files in memory, and a record of what would survive a power loss.

A file's bytes are the computer's memory of it. Beside them stands what is on the medium: the bytes at the last
sync, and each write since, in order. The same holds for the names in a folder, which a sync of the folder makes
durable. A power loss puts the files together again from that record. Each write since the last sync arrived, was
lost, or was torn at a sector's edge, as the schedule's random numbers say.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

SECTOR = 512


class Died(BaseException):
    """The process that runs this code is dead."""


@dataclass(eq=False)
class Content:
    """A file: its bytes at the last sync, and the writes since."""

    synced: bytearray = field(default_factory=bytearray)
    since: list[tuple[int, bytes | None]] = field(default_factory=list)  # offset and bytes; None: cut off there

    def sync(self) -> None:
        for offset, data in self.since:
            _apply(self.synced, offset, data)
        self.since.clear()

    def after_power_loss(self, rng: Random) -> bytes:
        """Return the bytes that are found after a power loss."""
        found, pieces = bytearray(self.synced), list(self.since)
        if not pieces:
            return bytes(found)
        way, at = rng.randrange(6), rng.randrange(len(pieces))
        torn = -1
        if way == 0:
            pieces = []
        elif way == 1:
            pieces = pieces[: at + 1]
        elif way == 2:
            del pieces[at]
        elif way == 3:
            torn = at
        elif way == 4:
            pieces = [piece for piece in pieces if rng.random() < 0.5]
        for number, (offset, data) in enumerate(pieces):
            if number == torn and data is not None:
                data = data[: rng.randrange(len(data) + 1) // SECTOR * SECTOR]
            _apply(found, offset, data)
        return bytes(found)


def _apply(target: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del target[offset:]
        target.extend(bytes(offset - len(target)))
        return
    if len(target) < offset:
        target.extend(bytes(offset - len(target)))
    target[offset : offset + len(data)] = data


class Disk:
    """A folder that stands for the disk of one machine.

    Args:
        root: The folder; everything in it is on this disk.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now: dict[str, Content] = {}  # by path
        self.safe: dict[str, Content] = {}  # the names that survive
        self.moves: list[tuple[str, str, Content | None]] = []  # folder, path, and its new content or None
        self.full = self.broken = False

    def load(self, files: dict[str, bytes]) -> None:
        """Make the disk hold these files, by path below its root, all of them safe."""
        root = str(self.root)
        for path in self.now:
            if path[len(root) + 1 :] not in files and os.path.lexists(path):
                os.unlink(path)
        self.moves.clear()
        self.full = self.broken = False
        self.now = {}
        for name, data in files.items():
            path = f"{root}/{name}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            _write(path, data)
            self.now[path] = Content(bytearray(data))
        self.safe = dict(self.now)

    def files(self, below: str = "") -> dict[str, bytes]:
        """Return the files as processes see them now, by path below the root or a folder of it."""
        self.forget_what_is_gone()
        start = f"{self.root}/{below}"
        return {path[len(start) :].lstrip("/"): read(path) for path in self.now
                if path.startswith(start) and not path.endswith("-shm")}  # fmt: skip

    def made(self, path: str) -> Content:
        """Note that a file has a name; nothing of it is safe yet."""
        content = self.now.get(path)
        if content is None:
            content = self.now[path] = Content()
            self.moves.append((os.path.dirname(path), path, content))
        return content

    def removed(self, path: str) -> None:
        if self.now.pop(path, None) is not None:
            self.moves.append((os.path.dirname(path), path, None))

    def renamed(self, source: str, target: str, *, link: bool = False) -> None:
        content = self.made(source)
        self.now[target] = content
        self.moves.append((os.path.dirname(target), target, content))
        if not link:
            self.removed(source)

    def sync_folder(self, folder: str) -> None:
        for _, path, content in [move for move in self.moves if move[0] == folder]:
            self._settle(path, content)
        self.moves = [move for move in self.moves if move[0] != folder]

    def sync_all(self) -> None:
        """Sync everything, as a person does who copies a disk: what the copy has, this disk does not lose."""
        for content in self.now.values():
            content.sync()
        self.safe, self.moves = dict(self.now), []

    def _settle(self, path: str, content: Content | None) -> None:
        if content is None:
            self.safe.pop(path, None)
        else:
            self.safe[path] = content

    def put(self, name: str, data: bytes) -> None:
        """Write a file by hand, so that it is safe at once."""
        path = f"{self.root}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _write(path, data)
        self.now[path] = self.safe[path] = Content(bytearray(data))
        self.moves = [move for move in self.moves if move[1] != path]

    def forget_what_is_gone(self) -> None:
        """Note the files that a process removed by other ways than those of the simulator."""
        for path in [path for path in self.now if not os.path.lexists(path)]:
            self.removed(path)

    def lose_power(self, rng: Random) -> str:
        """Put the disk together as it is found after a power loss, and return how, in words."""
        self.forget_what_is_gone()
        unsynced = sum(len(content.since) for content in self.now.values())
        moves = self.moves[: rng.randrange(len(self.moves) + 1)] if rng.random() < 0.7 else []
        for _, path, content in moves:
            self._settle(path, content)
        found = {path: content.after_power_loss(rng) for path, content in self.safe.items()}
        for path in self.now.keys() - found.keys():
            if os.path.lexists(path):
                os.unlink(path)
        self.now = {}
        for path, data in found.items():
            _write(path, data)
            if os.path.lexists(f"{path}-shm"):
                os.unlink(f"{path}-shm")
            self.now[path] = Content(bytearray(data))
        self.safe, lost = dict(self.now), len(self.moves) - len(moves)
        self.moves = []
        return f"{unsynced} writes and {lost} names were not synced"

    def rot(self, path: str, rng: Random, behind: Iterable[bytes] = ()) -> str:
        """Flip a bit of a file, in memory and on the medium: anywhere, or at times in the byte behind some bytes."""
        data = bytearray(read(path))
        if not data:
            return "of an empty file, nothing"
        at, ends = rng.randrange(len(data)), [data.find(some) + len(some) for some in behind if some in data]
        if ends and rng.random() < 0.5:
            at = min(rng.choice(ends), len(data) - 1)
        data[at] ^= 1 << rng.randrange(8)
        _write(path, bytes(data))
        content = self.now[path]
        content.synced[:], content.since = data, []
        return f"{os.path.basename(path)}, a bit of byte {at}"


def _write(path: str, data: bytes) -> None:
    # Written in place: a file keeps its identity through a power loss.
    handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        os.write(handle, data)
        os.ftruncate(handle, len(data))
    finally:
        os.close(handle)


def read(path: str) -> bytes:
    """Return the bytes of a file as processes see them now."""
    handle = os.open(path, os.O_RDONLY)
    try:
        return os.read(handle, os.fstat(handle).st_size)
    finally:
        os.close(handle)


@dataclass
class Disks:
    """All disks of a simulation below one folder, and the hook that each step of a disk passes.

    Args:
        root: The folder, which is removed and made anew.
    """

    root: Path
    by_name: dict[str, Disk] = field(default_factory=dict)
    on_step: Callable[[Disk, str, str], None] = lambda disk, what, path: None

    def __post_init__(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir(parents=True)
        self._skip = len(str(self.root)) + 1

    def disk(self, name: str) -> Disk:
        found = self.by_name.get(name)
        if found is None:
            (self.root / name).mkdir(exist_ok=True)
            found = self.by_name[name] = Disk(self.root / name)
        return found

    def of(self, path: str) -> Disk | None:
        """Return the disk that a path is on; None for a path outside of the simulation."""
        if not path.startswith(str(self.root) + "/"):
            return None
        return self.by_name.get(path[self._skip :].split("/", 1)[0])
