"""Power loss and full disks, at every step that SQLite takes with the ledger's own statements.

A file system of our own (``apsw`` lets SQLite's VFS be written in Python) records every
write, sync, truncation and deletion while devices answer, and when each reply left. Then
the disk is put together as it may look after the power went: everything that was synced,
and of the rest nothing, all, or all but one piece, torn or whole. The ledger itself opens
each of these disks, and every reply that had left has to be in it.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ldpsim.devices.ledger.counter_folder
import ldpsim.devices.ledger.schema
from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal, answer
from ldpsim.devices.ledger.counter import Entry
from ldpsim.devices.ledger.counter_folder import FolderCounter
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.devices.ledger.rows import Answer, Head
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report, pack_report

apsw = pytest.importorskip("apsw")

SECTOR = 512
NUMBERS = itertools.count()


class Home:
    """Twelve devices with a ledger of this test."""

    shard = 1024
    lives_here = range(12)
    secrets = np.repeat(np.arange(12, dtype=np.uint8), 32).reshape(12, 32)

    def __init__(self, ledger: Ledger, population: Population, policy: Policy) -> None:
        self.population, self.policy, self._ledger = population, policy, ledger

    def ledger(self, index: int) -> Ledger:
        return self._ledger

    def seal_keys(self, devices: Iterable[int]) -> dict[int, bytes]:
        return {device: bytes([device]) * 32 for device in devices}

    def say(self, query: Query, *devices: int) -> list[Any]:
        return answer(self, devices, query)


@dataclass
class Disk:
    """What was done to files, in order: (what, file, offset, data)."""

    folder: Path
    steps: list[tuple[str, str, int, bytes]] = field(default_factory=list)
    base: dict[str, bytes] = field(default_factory=dict)  # what was there, and safe, before the first step
    left: int | None = None  # how many more writes and syncs succeed
    error: type[Exception] | None = None

    def note(self, what: str, path: str, offset: int = 0, data: bytes = b"") -> None:
        if self.left is not None and what in ("write", "sync"):
            self.left -= 1
            if self.left < 0:
                raise self.error()  # type: ignore[misc]
        self.steps.append((what, os.path.basename(path), offset, data))

    def settle(self) -> None:
        """Begin here: all that is in the folder is safe."""
        self.steps.clear()
        self.base = {path.name: path.read_bytes() for path in self.folder.iterdir()}

    def mark(self, text: str) -> None:
        self.steps.append(("reply", text, 0, b""))


def file_system(disk: Disk, name: str) -> Any:
    """A VFS like the default one that tells the disk what it does."""

    class File(apsw.VFSFile):
        def __init__(self, name: Any, flags: list[int]) -> None:
            self.path = name.filename() if isinstance(name, apsw.URIFilename) else str(name or "")
            new = not os.path.exists(self.path)
            super().__init__("", name, flags)
            if new:
                disk.note("create", self.path)

        def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
            disk.note("write", self.path, offset, bytes(data))
            super().xWrite(data, offset)

        def xTruncate(self, size: int) -> None:  # noqa: N802
            disk.note("truncate", self.path, size)
            super().xTruncate(size)

        def xSync(self, flags: int) -> None:  # noqa: N802
            disk.note("sync", self.path)
            super().xSync(flags)

    class Vfs(apsw.VFS):
        def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802
            return File(name, flags)

        def xDelete(self, name: str, sync: bool) -> None:  # noqa: N802
            super().xDelete(name, sync)
            disk.note("delete", name)

    return Vfs(name, "")


class Cursor:
    """The rows of one statement, as sqlite3 gives them."""

    def __init__(self, rows: Iterator[tuple[Any, ...]], changes: Callable[[], int]) -> None:
        self._rows = iter(list(rows))
        self.rowcount = changes()

    def fetchone(self) -> Any:
        return next(self._rows, None)

    def fetchall(self) -> list[Any]:
        return list(self._rows)

    def __iter__(self) -> Iterator[Any]:
        return self._rows


class Connection:
    """The part of sqlite3's connection that the ledger uses, on apsw's and on a file system of ours."""

    def __init__(self, vfs: str, address: str, **_: Any) -> None:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        with translated():
            self._db = apsw.Connection(str(address), flags=flags, vfs=vfs)

    def execute(self, sql: str, bindings: Any = ()) -> Cursor:
        with translated():
            return Cursor(self._db.execute(sql, bindings), self._db.changes)

    def executemany(self, sql: str, rows: Any) -> Cursor:
        with translated():
            return Cursor(self._db.executemany(sql, list(rows)), self._db.changes)

    @property
    def in_transaction(self) -> bool:
        return bool(self._db.in_transaction)

    def close(self) -> None:
        with translated():
            self._db.close(True)


class translated:  # noqa: N801 - a context manager
    """apsw's errors as sqlite3's."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, apsw.Error):
            raise sqlite3.OperationalError(str(error)) from error


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Callable[[Disk], None]], Disk]:
    """Run something with the ledger's SQLite on a recorded disk."""

    def record(work: Callable[[Disk], None]) -> Disk:
        disk = Disk(tmp_path / f"disk-{next(NUMBERS)}")
        disk.folder.mkdir()
        name = f"recording-{next(NUMBERS)}"
        vfs = file_system(disk, name)
        with monkeypatch.context() as patch:
            names = {name: getattr(sqlite3, name) for name in dir(sqlite3) if not name.startswith("__")}
            shim = SimpleNamespace(**{**names, "connect": lambda address, **k: Connection(name, address, **k)})
            for module in (ldpsim.devices.ledger.schema, ldpsim.devices.ledger.counter_folder):
                patch.setattr(module, "sqlite3", shim)
            work(disk)
        del vfs  # kept until here: SQLite knows it by its name alone
        return disk

    return record


@pytest.fixture
def home_on(population: Population, policy_of: Callable[..., Policy]) -> Callable[[Ledger], Home]:
    return lambda ledger: Home(ledger, population, policy_of(population))


@dataclass
class Contents:
    """A file as it is known to be on the disk, and what was written since the last sync."""

    durable: bytes | None = None  # None: there is no such file yet
    pending: list[tuple[str, int, bytes]] = field(default_factory=list)

    def now(self, dropped: frozenset[int] = frozenset(), torn: int = -1) -> bytes | None:
        data = bytearray(self.durable or b"")
        if self.durable is None and not self.pending:
            return None
        for number, (what, offset, piece) in enumerate(self.pending):
            if number in dropped:
                continue
            if number == torn:  # the first sectors only
                piece = piece[: max(1, len(piece) // 2 // SECTOR * SECTOR)]
            if what == "truncate":
                del data[offset:]
                data.extend(bytes(offset - len(data)))
            elif what == "write":
                data.extend(bytes(max(0, offset - len(data))))
                data[offset : offset + len(piece)] = piece
        return bytes(data)


Image = dict[str, bytes]


def after_power_loss(disk: Disk, *, everywhere: bool) -> Iterator[tuple[Image, set[str]]]:
    """Yield disks as they may be found, with the replies that had left by then.

    Before each sync or deletion, after each reply and at the end; ``everywhere``: after each
    write too.
    """
    files = {name: Contents(data) for name, data in disk.base.items()}
    gone: dict[str, Contents] = {}
    replies: set[str] = set()
    for number, (what, name, offset, data) in enumerate(disk.steps):
        last = number == len(disk.steps) - 1
        if what in ("sync", "delete") or everywhere or last:
            for image in disks(files, gone):
                yield image, set(replies)
        if what == "reply":
            replies.add(name)
            for image in disks(files, gone):
                yield image, set(replies)
        elif what == "delete":
            gone[name] = files.pop(name)
        elif what == "sync":
            if any(step[0] == "create" for step in files[name].pending):
                gone.clear()  # with the first sync of a new file SQLite syncs the folder, deletions included
            files[name] = Contents(files[name].now() or b"")
        else:
            files.setdefault(name, Contents()).pending.append((what, offset, data))
            if what == "create":
                gone.pop(name, None)


def disks(files: dict[str, Contents], gone: dict[str, Contents]) -> Iterator[Image]:
    def image(choose: Callable[[str, Contents], bytes | None]) -> Image:
        found = {name: choose(name, file) for name, file in files.items() if not name.endswith("-shm")}
        return {name: data for name, data in found.items() if data is not None}

    yield image(lambda _, file: file.durable)  # nothing that was not synced
    yield image(lambda _, file: file.now())  # all of it
    for name in gone:  # a deletion that did not reach the disk
        if not name.endswith("-shm"):
            kept = gone[name].now()
            yield {**image(lambda _, file: file.now()), **({name: kept} if kept is not None else {})}
    for target, file in files.items():
        for piece in range(len(file.pending)):
            for how in ({"dropped": frozenset({piece})}, {"torn": piece},
                        {"dropped": frozenset(range(piece + 1, len(file.pending)))},
                        {"dropped": frozenset(range(piece))}):  # fmt: skip
                yield image(lambda name, f, t=target, h=how: f.now(**h) if name == t else f.now())
                yield image(lambda name, f, t=target, h=how: f.now(**h) if name == t else f.durable)


def released(ledger: Ledger, home_on: Callable[[Ledger], Home], disk: Disk, ask_for: Any) -> None:
    """Devices answer alone, together, in stages of attributes; each reply is noted as it leaves."""

    for devices, letters in (((0,), "afl"), ((1,), "afl"), ((2, 3, 4), "afl"), ((5,), "l"), ((5,), "f")):
        query = ask_for(attributes=letters)
        for index, report in zip(devices, home_on(ledger).say(query, *devices), strict=True):
            assert isinstance(report, Report) and not report.replayed
            disk.mark(f"{index} {query.attributes[0]} {report.data.hex()}")


def test_power_is_lost_at_every_step(
    tmp_path: Path, recorded: Any, home_on: Callable[[Ledger], Home], ask_for: Callable[..., Query]
) -> None:
    """What a curator holds is in the ledger of every disk that may be found, byte for byte."""

    def work(disk: Disk) -> None:
        ledger = Ledger.create(disk.folder / "ledger.sqlite")
        disk.settle()  # how a new ledger comes about is another test's matter
        released(ledger, home_on, disk, ask_for)
        ledger.close()
        ledger = Ledger(disk.folder / "ledger.sqlite")
        (report,) = home_on(ledger).say(ask_for(), 6)
        disk.mark(f"6 adjacency {report.data.hex()}")
        ledger.close()

    disk = recorded(work)
    assert sum(step[0] == "sync" for step in disk.steps) >= 7 and any(step[0] == "delete" for step in disk.steps)
    states = opened = 0
    seen: set[tuple[Any, ...]] = set()
    for image, replies in after_power_loss(disk, everywhere=True):
        states += 1
        key = (tuple(sorted(image.items())), len(replies))
        if key in seen:
            continue
        seen.add(key)
        opened += 1
        check(tmp_path / f"found-{opened}", image, replies, home_on, ask_for)
    assert states > 500 and opened > 100, (states, opened)


def test_a_release_is_one_sync_of_the_disk(
    recorded: Any, home_on: Callable[[Ledger], Home], ask_for: Callable[..., Query]
) -> None:
    """What durability costs: one sync a commit, alone or for a batch, and none for a retry."""

    def work(disk: Disk) -> None:
        ledger = Ledger.create(disk.folder / "ledger.sqlite")
        home_on(ledger).say(ask_for(), 0)  # a new log's header is synced too
        counts = []
        for indices in ((1,), (2,), tuple(range(3, 12)), (1,)):
            disk.settle()
            home_on(ledger).say(ask_for(), *indices)
            counts.append(sum(step[0] == "sync" for step in disk.steps))
        ledger.close()
        assert counts == [1, 1, 1, 0]

    recorded(work)


def check(folder: Path, image: Image, replies: set[str], home_on: Callable[[Ledger], Home], ask_for: Any) -> None:
    """Open a disk as it was found: who had answered gives the same bytes, and nothing to another question."""
    folder.mkdir()
    for name, data in image.items():
        (folder / name).write_bytes(data)
    ledger = Ledger(folder / "ledger.sqlite")
    answered: dict[int, list[str]] = {}
    for text in replies:
        answered.setdefault(int(text.split()[0]), []).append(text)
    new, home = 0, home_on(ledger)
    for index in range(8):
        held = answered.get(index, [])
        for text in held:
            _, attribute, data = text.split()
            letters = "afl" if index != 5 else attribute[0]
            assert home.say(ask_for(attributes=letters), index) == [Report(bytes.fromhex(data), replayed=True)]
            assert home.say(ask_for("c", eps=2.0, attributes=letters), index) == [Refusal.REPORT_COLLECTED]
        rows = {part.attribute for a in ledger.answers(index) for part in a.parts}
        assert index == 5 or len(rows) in (0, 3)  # an answer is whole or not there
        if not rows and not new:  # a person who was not asked is asked now
            assert isinstance(home.say(ask_for("c", eps=2.0), index)[0], Report)
            new += 1
    ledger.close()


def test_a_reply_that_leaves_too_early_is_found(
    tmp_path: Path, recorded: Any, home_on: Callable[[Ledger], Home], ask_for: Callable[..., Query],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Named broken variants: a ledger that does not sync, and replies that leave before the commit."""

    def work(disk: Disk, synchronous: str, early: bool) -> None:
        Ledger.create(disk.folder / "ledger.sqlite").close()
        ledger = Ledger(disk.folder / "ledger.sqlite", synchronous=synchronous)
        disk.settle()
        enter = ledger.enter

        def entering(rows: Sequence[Answer], *more: Any) -> None:
            enter(rows, *more)
            data = pack_report([part.report for part in rows[0].parts])
            disk.mark(f"{rows[0].device} adjacency {data.hex()}")

        if early:
            ledger.enter = entering  # type: ignore[method-assign]
        for index in (0, 1, 2):
            (report,) = home_on(ledger).say(ask_for(), index)
            disk.mark(f"{index} adjacency {report.data.hex()}")
        ledger.close()

    for variant, broken in (("NORMAL", False), ("FULL", True)):
        disk = recorded(lambda disk, v=variant, b=broken: work(disk, v, b))
        failures = 0
        for image, replies in after_power_loss(disk, everywhere=False):
            try:
                check(tmp_path / f"found-{next(NUMBERS)}", image, replies, home_on, ask_for)
            except AssertionError:
                failures += 1
            if failures:
                break
        assert failures, (variant, broken)


@pytest.mark.parametrize("settings", [None, "OFF"])
def test_a_step_of_a_counter_survives_a_power_loss(
    tmp_path: Path, recorded: Any, settings: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every disk that may be found has the step that was confirmed, whole. Power: not where nothing is synced."""
    if settings:
        execute = Connection.execute
        monkeypatch.setattr(
            Connection, "execute", lambda db, sql, *more: execute(db, sql.replace("=FULL", f"={settings}"), *more)
        )
    heads = [Head(number, bytes([number]) * 32 if number else b"") for number in range(5)]

    def work(disk: Disk) -> None:
        counter = FolderCounter(disk.folder / "c.count")
        counter.create({device: Entry(heads[0], b"n" * 32) for device in (0, 1)})
        disk.settle()
        for before, after in itertools.pairwise(heads):
            assert counter.advance(dict.fromkeys((0, 1), (before, after))) == {}
            disk.mark(str(after.answers))

    lost = opened = 0
    seen: set[tuple[Any, ...]] = set()
    for image, replies in after_power_loss(recorded(work), everywhere=True):
        key = (tuple(sorted(image.items())), len(replies))
        if key in seen:
            continue
        seen.add(key)
        opened += 1
        folder = tmp_path / f"found-{opened}"
        folder.mkdir()
        for name, data in image.items():
            (folder / name).write_bytes(data)
        try:
            held = FolderCounter(folder / "c.count").entries((0, 1))
        except OSError:
            held = {}
        whole = len(held) == 2 and held[0] == held[1] and held[0].head in heads
        lost += not whole or held[0].head.answers < max(map(int, replies), default=0)
    assert opened > 20 and (lost > 0) is bool(settings), (opened, lost)


@pytest.mark.parametrize("error", ["FullError", "IOError"])
def test_the_disk_fails_at_every_step(
    recorded: Any, home_on: Callable[[Ledger], Home], ask_for: Callable[..., Query], error: str
) -> None:
    """Each write or sync in turn fails, and all after it, until there is room again."""
    for left in range(40):
        outcome: list[Any] = []

        def work(disk: Disk, left: int = left, outcome: list[Any] = outcome) -> None:
            ledger = Ledger.create(disk.folder / "ledger.sqlite")
            home = home_on(ledger)
            (first,) = home.say(ask_for(), 0)
            disk.left, disk.error = left, getattr(apsw, error)
            said = [*home.say(ask_for(), 1), *home.say(ask_for(), 2), *home.say(ask_for(eps=2.0), 0)]
            failed = disk.left < 0
            disk.left = None
            with suppress(sqlite3.Error):
                ledger.close()
            ledger = Ledger(disk.folder / "ledger.sqlite")
            home = home_on(ledger)
            assert home.say(ask_for(), 0) == [Report(first.data, replayed=True)]
            for index, given in zip((1, 2), said, strict=False):
                (again,) = home.say(ask_for(), index)
                assert isinstance(again, Report)
                if isinstance(given, Report):
                    assert again == Report(given.data, replayed=True)
                else:
                    assert given is Refusal.LEDGER_DAMAGED
                assert home.say(ask_for(eps=2.0), index) == [Refusal.REPORT_COLLECTED]
            assert said[2] in (Refusal.REPORT_COLLECTED, Refusal.LEDGER_DAMAGED)
            ledger.close()
            outcome.append((failed, sum(isinstance(answer, Report) for answer in said)))

        recorded(work)
        ((failed, answered),) = outcome
        if not failed:
            assert answered == 2 and left > 6
            return
        assert answered < 2
    raise AssertionError("the disk never was large enough")


def test_a_new_ledger_is_whole_or_not_there(tmp_path: Path, recorded: Any) -> None:
    """Power is lost while the first ledger is made: the file that gets its name was synced before."""
    steps: list[tuple[str, str, int, bytes]] = []

    def work(disk: Disk) -> None:
        link = os.link

        def named(*arguments: Any, **more: Any) -> None:
            steps.extend(disk.steps)
            link(*arguments, **more)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "link", named)
            Ledger.create(disk.folder / "ledger.sqlite").close()

    recorded(work)
    files: dict[str, Contents] = {}
    for what, name, offset, data in steps:
        if what == "sync":
            files[name] = Contents(files[name].now() or b"")
        elif what == "delete":
            files.pop(name, None)
        else:
            files.setdefault(name, Contents()).pending.append((what, offset, data))
    ((_, made),) = [(name, file) for name, file in files.items() if not name.endswith("-shm")]
    assert not [step for step in made.pending if step[0] != "create"]
    (tmp_path / "ledger.sqlite").write_bytes(made.durable or b"")
    Ledger(tmp_path / "ledger.sqlite").close()
    (tmp_path / "half").write_bytes((made.durable or b"")[:4096])
    with pytest.raises(LedgerDamaged):
        Ledger(tmp_path / "half")
