"""Faults of a device's state, and the gain of a curator that asks another question after one.

:data:`FAULTS` is the table. ``covered`` says that the device alone stays at the one-query bound; ``counted``, that it
does so if it was enrolled with a counter in another place (:mod:`ldpsim.devices.ledger.counter`). Otherwise each strike
gives one more release: twice the loss after one, three times after two. Faults that need a process or a file system of
their own (kills, a loss of power, a full disk) have tests instead.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.strategies.attacks.adversaries.curator import AttackResult, Curator, Shot, Target
from ldpsim.strategies.attacks.adversaries.questions import rebudgeted
from ldpsim.strategies.engines.collect import quiet_flower
from ldpsim.strategies.engines.grids import LocalGrid
from tests.strategies.attacks.adversaries.pooling import pooled

# Gets the state folder as it was when the machine stopped, and a copy from before the first
# question; returns the folder that is served from then on (None: the same one).
Strike = Callable[[Path, Path], Path | None]


def _ledgers(folder: Path, ending: str = "") -> list[Path]:
    return sorted(folder.glob(f"ledger*.sqlite{ending}"))


def _delete_ledgers(folder: Path, before: Path) -> None:
    for path in _ledgers(folder, "*"):
        path.unlink()


def _delete_logs(folder: Path, before: Path) -> None:
    for path in _ledgers(folder, "-wal"):
        path.unlink()


def _make_anew(folder: Path, before: Path) -> None:
    for path in _ledgers(folder):
        _delete_ledgers(folder, before)
        Ledger.create(path).close()


_TRIGGER = "CREATE TRIGGER swallow AFTER INSERT ON answer BEGIN DELETE FROM answer; END"
_UNSEALED = "INSERT INTO answer SELECT 1000000000 + device, number, '', '', x'', x'' FROM answer"
_MOVED = "UPDATE answer SET device = device + (SELECT max(device) + 1000000000 FROM answer)"


def _edit(folder: Path, *statements: str) -> None:
    for path in _ledgers(folder):
        with closing(sqlite3.connect(path)) as db, db:
            for statement in statements:
                db.execute(statement)


def _plant_trigger(folder: Path, before: Path) -> None:
    with suppress(sqlite3.OperationalError):  # an earlier strike planted it
        _edit(folder, _TRIGGER)


def _delete_rows(folder: Path, before: Path) -> None:
    _edit(folder, "DELETE FROM answer WHERE device >= 1000000000", _UNSEALED,
          "DELETE FROM answer WHERE device < 1000000000")  # fmt: skip


def _flip(paths: list[Path]) -> None:
    for path in paths:
        data = bytearray(path.read_bytes())
        for at in range(100, len(data), 512):
            data[at] = (data[at] + 16) % 256
        path.write_bytes(data)


def _settled(folder: Path) -> list[Path]:
    # The log goes into the file first, as a clean stop does.
    with closing(State(folder)) as state:
        for first in range(0, len(state), state.shard):
            with suppress(LedgerDamaged):  # by an earlier strike of the fault
                state.ledger(first)
    return _ledgers(folder)


def _truncate_ledgers(folder: Path, before: Path) -> None:
    for path in _settled(folder):
        os.truncate(path, path.stat().st_size // 2)


def _put_back(folder: Path, before: Path) -> None:
    _delete_ledgers(folder, before)
    for path in _ledgers(before):
        shutil.copy(path, folder / path.name)


def _second_place(folder: Path, before: Path) -> Path:
    return Path(shutil.copytree(before, Path(tempfile.mkdtemp(dir=before.parent)) / "copy"))


def _enrol_again(folder: Path, before: Path) -> Path:
    again = Path(tempfile.mkdtemp(dir=before.parent)) / "again"
    enrol(again, Population.load(folder / "population"), State(folder).policy, seed=None).close()
    return again


def _replace_secrets(folder: Path, before: Path) -> None:
    path = folder / "secrets.bin"
    path.write_bytes(bytes((byte + 1) % 256 for byte in path.read_bytes()))


@dataclass(frozen=True)
class Fault:
    """One row of the threat model.

    Args:
        name: Name in ``docs/threats.md``.
        description: The fault, and the device's reaction.
        covered: Whether no second release follows.
        counted: Whether no second release follows if the device has a counter in another place.
        strike: Makes the fault in a state folder.
    """

    name: str
    description: str
    covered: bool
    counted: bool
    strike: Strike = field(repr=False)

    def attack(self, target: Target, *, asks: int = 2) -> AttackResult:
        """Ask devices that were not asked yet at another budget after each strike, ``asks`` times in all.

        The machine stops without a clean end before each strike.
        """
        folder, results = target.home, list[AttackResult]()
        with tempfile.TemporaryDirectory() as scratch, quiet_flower():
            before = Path(shutil.copytree(folder, Path(scratch) / "before"))
            for number in range(asks):
                if number:
                    folder = self.strike(folder, before) or folder
                question = rebudgeted(target.query, 1.0 - number / (asks + 1), target.facts)
                curator = Curator(replace(target, folder=folder))
                with closing(LocalGrid(folder, target.devices)) as grid:
                    curator.fire(grid, [[Shot(question)]])
                    stopped = {path: path.read_bytes() for path in _ledgers(folder) + _ledgers(folder, "-wal")}
                for path, data in stopped.items():
                    path.write_bytes(data)
                results.append(curator.result)
        return pooled(results)


FAULTS: Mapping[str, Fault] = {fault.name: fault for fault in (
    Fault("ledger-truncated", "the ledger's file lost its second half: LEDGER_DAMAGED", True, True, _truncate_ledgers),
    Fault("ledger-bit-flipped", "bits of the ledger's file flipped: LEDGER_DAMAGED (checks at opening, a seal a row)",
          True, True, lambda folder, _: _flip(_settled(folder))),
    Fault("secrets-replaced", "the secrets are other ones: no seal fits, LEDGER_DAMAGED for who has released",
          True, True, _replace_secrets),
    Fault("ledger-deleted", "the ledger's file is gone: LEDGER_DAMAGED, for enrolment alone makes a ledger",
          True, True, _delete_ledgers),
    Fault("trigger-planted", "a trigger that undoes every entry is planted in the ledger's file: LEDGER_DAMAGED",
          True, True, _plant_trigger),
    Fault("ledger-made-anew", "an empty ledger is put in the place of one: same data, same bytes; else a new release",
          False, True, _make_anew),
    Fault("rows-deleted", "the last rows of devices are deleted, and as many without a seal put in for nobody",
          False, True, _delete_rows),
    Fault("rows-moved", "the rows of devices are moved to numbers that nobody has",
          False, True, lambda folder, _: _edit(folder, _MOVED)),
    Fault("log-deleted", "the write-ahead log of a process that was killed is deleted: its releases are forgotten",
          False, True, _delete_logs),
    Fault("log-bit-flipped", "bits of such a log flipped: SQLite drops the frames from there on and says nothing",
          False, True, lambda folder, _: _flip(_ledgers(folder, "-wal"))),
    Fault("older-backup", "the ledger is put back from a backup: the releases since then are forgotten",
          False, True, _put_back),
    Fault("second-place", "the folder is copied and served in a second place (counted: where both reach the counter)",
          False, True, _second_place),
    Fault("enrolled-again", "the person's data are enrolled a second time: another device, with another secret",
          False, False, _enrol_again),
)}  # fmt: skip
