"""Ray actor that serves ledger shards on its machine's own disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flwr.app import RecordDict

from devices.client_app import open_state
from devices.data.population import Population
from devices.enrolment.parts import Parts
from devices.enrolment.state import SHARD
from devices.fleet import Fleet
from devices.ledger.ledger import EpochPassed, LedgerDamaged
from devices.policy.policy import Policy
from strategies.engines.flower_internals import assume_identity
from strategies.engines.grids import RUN_ID
from strategies.engines.packed_messages import PackedMessage, Reply, answer_packed
from strategies.engines.worker_grid import ShardGone


class ShardWorker:
    """Fleets of the shards that are on this machine.

    Args:
        devices: Id of the devices.
        home: As for :class:`devices.enrolment.parts.Parts`.
    """

    def __init__(self, devices: str, home: Path | None = None) -> None:
        assume_identity(run_id=RUN_ID)
        self._devices, self._home = devices, home
        self._parts: Parts | None = None
        self._fleets: dict[Path, Fleet] = {}

    @property
    def parts(self) -> Parts:
        """The shards on this machine; ValueError of one line where its folder cannot be used."""
        if self._parts is None:
            self._parts = Parts(self._devices, self._home)
        return self._parts

    def describe(self) -> tuple[str, list[int]]:
        """Return the name of the machine's disk, and the shards that are there."""
        return self.parts.machine, list(self.parts.folders())

    def enrol(self, people: Population, policy: Policy, shards: Sequence[int], seed: int | None) -> None:
        """Enrol the devices of shards on this machine; those that are here stay as they are."""
        self.parts.enrol(people, policy, shards, seed=seed)

    def answer(self, contents: Sequence[RecordDict], rows: Sequence[PackedMessage], epoch: int) -> list[Reply]:
        """Answer packed messages of one shard, as its owner of this epoch.

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

    def _own(self, part: Path, shard: int, epoch: int) -> None:
        """Raise the ledger's epoch: a process that served the shard before commits nothing more."""
        try:
            ledger = open_state(str(part), os.getpid()).ledger(shard * SHARD)
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
