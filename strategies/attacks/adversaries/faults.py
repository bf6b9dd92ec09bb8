"""Faults of a device's state, and the gain of a curator that asks another question after one.

:data:`FAULTS` is the table of faults by name. ``covered`` says that the device alone stays at
the one-query bound; ``counted``, that it does so if it was enrolled with a counter in another
place (:mod:`ldpsim.devices.ledger.counter`). Otherwise each strike of the fault gives one more release: 2x
after one strike, 3x after two.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.strategies.attacks.adversaries.attack_result import AttackResult
from ldpsim.strategies.attacks.adversaries.curator import AdversarialCurator, Runs, Shot, rebudgeted
from ldpsim.strategies.attacks.adversaries.target import Target
from ldpsim.strategies.engines.collect import quiet_flower
from ldpsim.strategies.engines.grids import LocalGrid

_TORTURE = "tests/strategies/attacks/stress/test_kill.py::"
_CRASH = "tests/devices/ledger/test_crash.py::test_a_killed_collection_never_gives_two_reports"
_POWER = "tests/faults/test_faults.py::test_a_thousand_schedules_violate_nothing"
_FAULTS = "tests/strategies/attacks/adversaries/test_faults.py::"
_STRIKES = _FAULTS + "test_what_a_fault_costs"

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
    state = State(folder)
    for first in range(0, len(state), state.shard):
        with suppress(LedgerDamaged):  # by an earlier strike of the fault
            state.ledger(first)
    state.close()
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
        name: Name on the command line.
        description: The fault, and the device's reaction.
        covered: Whether no second release follows.
        counted: Whether no second release follows if the device has a counter in another place.
        loss: Loss of a person in one-query bounds; 1x if it is covered.
        test: The test that shows it.
        strike: Makes the fault in a state folder; None if it needs a process or a file system
            of its own, which the test has.
    """

    name: str
    description: str
    covered: bool
    counted: bool
    loss: str
    test: str
    strike: Strike | None = field(default=None, repr=False)

    def curator(self, target: Target, *, asks: int = 2) -> AdversarialCurator:
        """Return the adversary that asks ``asks`` times in all; the fault strikes in between.

        Raises:
            ValueError: for a fault that cannot be made here.
        """
        if self.strike is None:
            raise ValueError(f"fault {self.name} needs a process or file system of its own ({self.test})")
        return AfterFault(target, self.name, self.strike, asks=asks)


class AfterFault(AdversarialCurator):
    """Asks at another budget after each strike of a fault.

    Args:
        target: Devices in a state folder that were not asked yet.
        fault: Name of the fault.
        strike: Makes the fault.
        asks: Number of questions in all.
    """

    name = "after-fault"
    description = "asks at another budget after each fault"

    def __init__(self, target: Target, fault: str, strike: Strike, *, asks: int = 2) -> None:
        super().__init__(target, asks=asks)
        self.outcome = AttackResult(fault)
        self.strike = strike

    def runs(self) -> Runs:
        query, facts = self.target.query, self.target.facts
        yield from ([[Shot(rebudgeted(query, 1.0 - n / (self.asks + 1), facts))]] for n in range(self.asks))

    def attack(self) -> AttackResult:
        """Stop the machine without a clean end after each run, and let the fault strike."""
        folder = self.target.home
        with tempfile.TemporaryDirectory() as scratch, quiet_flower():
            before = Path(shutil.copytree(folder, Path(scratch) / "before"))
            for number, rounds in enumerate(self.runs()):
                if number:
                    folder = self.strike(folder, before) or folder
                connect = partial(LocalGrid, folder, self.target.devices)
                self.target = replace(self.target, connect=connect, folder=folder)
                with closing(self.target.connect()) as grid:
                    self.fire(grid, rounds)
                    files = [*_ledgers(folder), *_ledgers(folder, "-wal")]
                    stopped = {path: path.read_bytes() for path in files}
                for path, data in stopped.items():
                    path.write_bytes(data)
        return self.outcome


FAULTS: Mapping[str, Fault] = {fault.name: fault for fault in (
    Fault("kill-before-claim", "kill -9 before the claim: nothing was released, the next question is the first",
          True, True, "1x", _CRASH),
    Fault("kill-before-commit", "kill -9 between claim and commit: SQLite undoes it, nothing was released",
          True, True, "1x", _CRASH),
    Fault("kill-after-commit", "kill -9 after the commit and before the reply: a retry gets the stored bytes",
          True, True, "1x", _CRASH),
    Fault("kill-before-counter", "kill -9 between commit and counter: no reply left, a retry gets the stored bytes",
          True, True, "1x", _CRASH),
    Fault("kill-during-replies", "kill -9 while replies leave: a retry gets the stored bytes",
          True, True, "1x", _CRASH),
    Fault("kill-at-random", "1,000 kills at random moments of collections of 500 devices (make torture)",
          True, True, "1x", f"{_TORTURE}test_forty_kills"),
    Fault("power-loss", "writes since the last sync are lost, torn or reordered at any step: what was answered stands",
          True, True, "1x", _POWER),
    Fault("disk-full", "a write or sync fails at every step: LEDGER_DAMAGED until there is room, nothing half entered",
          True, True, "1x", _POWER),
    Fault("read-only-folder", "the folder or the file cannot be written: LEDGER_DAMAGED",
          True, True, "1x", _FAULTS + "test_a_folder_that_cannot_be_written"),
    Fault("ledger-truncated", "the ledger's file lost its second half: LEDGER_DAMAGED",
          True, True, "1x", _STRIKES, _truncate_ledgers),
    Fault("ledger-bit-flipped", "bits of the ledger's file flipped: LEDGER_DAMAGED (checks at opening, a seal a row)",
          True, True, "1x", _STRIKES, lambda folder, _: _flip(_settled(folder))),
    Fault("secrets-replaced", "the secrets are other ones: no seal fits, LEDGER_DAMAGED for who has released",
          True, True, "1x", _STRIKES, _replace_secrets),
    Fault("clock-set-back", "the clock runs backwards: no decision depends on it",
          True, True, "1x", _FAULTS + "test_the_clock_plays_no_part"),
    Fault("two-processes", "two processes serve one ledger: a claim is one step, the second one sees it",
          True, True, "1x", "tests/devices/ledger/test_ledger_races.py::test_processes_that_claim_at_once"),
    Fault("file-replaced", "a file of a ledger, its log say, is removed or replaced while it is served: LEDGER_DAMAGED",
          True, True, "1x", "tests/devices/ledger/test_open_files.py::test_no_answer_goes_into_a_file_without_a_name"),
    Fault("ledger-deleted", "the ledger's file is gone: LEDGER_DAMAGED, for enrolment alone makes a ledger",
          True, True, "1x", _STRIKES, _delete_ledgers),
    Fault("trigger-planted", "a trigger that undoes every entry is planted in the ledger's file: LEDGER_DAMAGED",
          True, True, "1x", _STRIKES, _plant_trigger),
    Fault("ledger-made-anew", "an empty ledger is put in the place of one: same data, same bytes; else a new release",
          False, True, "2x", _STRIKES, _make_anew),
    Fault("rows-deleted", "the last rows of devices are deleted, and as many without a seal put in for nobody",
          False, True, "2x", _STRIKES, _delete_rows),
    Fault("rows-moved", "the rows of devices are moved to numbers that nobody has",
          False, True, "2x", _STRIKES, lambda folder, _: _edit(folder, _MOVED)),
    Fault("log-deleted", "the write-ahead log of a process that was killed is deleted: its releases are forgotten",
          False, True, "2x", _STRIKES, _delete_logs),
    Fault("log-bit-flipped", "bits of such a log flipped: SQLite drops the frames from there on and says nothing",
          False, True, "2x", _STRIKES, lambda folder, _: _flip(_ledgers(folder, "-wal"))),
    Fault("older-backup", "the ledger is put back from a backup: the releases since then are forgotten",
          False, True, "2x", _STRIKES, _put_back),
    Fault("second-place", "the folder is copied and served in a second place (counted: where both reach the counter)",
          False, True, "2x", _STRIKES, _second_place),
    Fault("edited-app", "the curator ships another app, which reads the folder; only a vault keeps it out",
          False, False, "everything", _FAULTS + "test_an_edited_app_reads_everything"),
    Fault("enrolled-again", "the person's data are enrolled a second time: another device, with another secret",
          False, False, "2x", _STRIKES, _enrol_again),
)}  # fmt: skip
