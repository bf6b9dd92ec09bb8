"""Ray actor that serves ledger shards, of a folder that all machines have or of its machine's own disk."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flwr.app import RecordDict

from ldpsim.devices.client_app import open_state
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.parts import Parts
from ldpsim.devices.enrolment.state import SHARD
from ldpsim.devices.fleet import Fleet
from ldpsim.devices.ledger.ledger import EpochPassed, LedgerDamaged
from ldpsim.devices.policy.policy import Policy
from ldpsim.strategies.engines.flower_internals import assume_identity
from ldpsim.strategies.engines.grids import RUN_ID
from ldpsim.strategies.engines.packed_messages import PackedMessage, Reply, answer_packed


class ShardGone(RuntimeError):
    """A machine has a shard no more that it had before."""


class CommonFolder:
    """Shards of a state folder that all machines have; :class:`ldpsim.devices.enrolment.parts.Parts` has its own."""

    machine = ""  # it is no machine's

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def folders(self) -> dict[int, Path]:
        """Return nothing: no shard is bound to a machine."""
        return {}

    def folder(self, shard: int) -> Path:
        """Return the folder of all shards."""
        return self._folder


class ShardWorker:
    """Fleets of the shards that this machine can serve.

    Args:
        devices: Id of the devices, or the folder that all machines have.
        home: As for :class:`ldpsim.devices.enrolment.parts.Parts`.
        own_disks: Whether the devices are on the machines' own disks.
    """

    def __init__(self, devices: str, home: Path | None = None, *, own_disks: bool = True) -> None:
        assume_identity(run_id=RUN_ID)
        self._devices, self._home, self._own_disks = devices, home, own_disks
        self._parts: Parts | CommonFolder | None = None
        self._fleets: dict[Path, Fleet] = {}
        self._epochs: dict[int, int] = {}  # of the shards that this worker serves in the epoch of their ledger

    @property
    def parts(self) -> Any:
        """The shards on this machine; ValueError of one line where its folder cannot be used."""
        if self._parts is None:
            self._parts = Parts(self._devices, self._home) if self._own_disks else CommonFolder(self._devices)
        return self._parts

    def describe(self) -> tuple[str, list[int]]:
        """Return the name of the machine's disk, and the shards that are there."""
        return self.parts.machine, list(self.parts.folders())

    def sees(self, name: str) -> tuple[str, bool]:
        """Return this machine's name, and whether it has the file of this name in the common folder."""
        return socket.gethostname(), (Path(self._devices) / name).is_file()

    def enrol(self, people: Population, policy: Policy, shards: Sequence[int], seed: int | None) -> None:
        """Enrol the devices of shards on this machine; those that are here stay as they are."""
        self.parts.enrol(people, policy, shards, seed=seed)

    def answer(self, contents: Sequence[RecordDict], rows: Sequence[PackedMessage], epoch: int | None) -> list[Reply]:
        """Answer packed messages of one shard, as its owner of this epoch.

        None is the epoch that the ledger has when this worker serves it for the first time.

        Raises:
            ShardGone: where the shard is not on this machine.
            EpochPassed: where the shard has a later owner.
        """
        shard = (rows[0][1] - 1) // SHARD
        part = self.parts.folder(shard)
        if part is None:
            raise ShardGone(f"shard {shard} is not on {self.parts.machine}")
        self._own(part, shard, epoch)
        replies = answer_packed(self._fleets.setdefault(part, Fleet(part)), contents, rows)
        self._own(part, shard, epoch)  # else the devices of an earlier owner would say that their ledger is damaged
        return replies

    def _own(self, part: Path, shard: int, epoch: int | None) -> None:
        """Raise the ledger's epoch: a process that served the shard before commits nothing more."""
        try:
            ledger = open_state(str(part), os.getpid()).ledger(shard * SHARD)
            if epoch is None:
                epoch = self._epochs.setdefault(shard, ledger.epoch)
            if ledger.epoch < epoch:
                ledger.raise_epoch(epoch)
            with ledger.transaction():
                pass  # EpochPassed where the file has a later one by now
        except EpochPassed:
            raise
        except LedgerDamaged:
            return  # the devices say so themselves
        if ledger.epoch != epoch:
            raise EpochPassed(f"shard {shard} is in epoch {ledger.epoch}; this worker serves epoch {epoch}")

    def apply(self, function: Callable[[Path, list[int]], Any], shards: Sequence[int]) -> list[Any]:
        """Call a function with each state folder here that has some of the shards, and with those shards."""
        wanted, by_part = set(shards), dict[Path, list[int]]()
        for shard, part in self.parts.folders().items():
            if shard in wanted:
                by_part.setdefault(part, []).append(shard)
        return [function(part, here) for part, here in by_part.items()]
