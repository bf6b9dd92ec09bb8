"""Grid of devices in Ray actors, which survives the loss of a worker or of a machine.

The devices are in one folder, and every worker must have that very folder: each says so before anybody is asked. One
worker serves a ledger shard at a time. Where a worker is lost, another one takes its shards over under a new epoch
and gets the messages that are open: devices that answered give their stored bytes, and a lost worker that
still runs can commit nothing more (:class:`devices.ledger.ledger.EpochPassed`).
"""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from flwr.app import Message, RecordDict

from devices.client_app import open_state
from devices.enrolment.state import SHARD
from devices.fleet import Fleet
from devices.ledger.ledger import EpochPassed, LedgerDamaged
from strategies.engines.flower_internals import assume_identity
from strategies.engines.grids import RUN_ID
from strategies.engines.packed_messages import PackedMessage, Reply, answer_packed, packed
from strategies.engines.ray_session import RaySession
from strategies.engines.worker_grid import RayFailed, Sent, WorkerGrid, all_of, sign

__all__ = ["FleetWorker", "RayFailed", "RayGrid"]


class FleetWorker:
    """Ray actor with the fleet of its shards."""

    def __init__(self, folder: str) -> None:
        assume_identity(run_id=RUN_ID)
        self._folder = folder
        self._fleet = Fleet(Path(folder))
        self._epochs: dict[int, int] = {}  # of the shards that this worker serves

    def sees(self, name: str) -> tuple[str, bool]:
        """Return this machine's name, and whether it has the file of this name in the devices' folder."""
        return socket.gethostname(), (Path(self._folder) / name).is_file()

    def take_over(self, shards: Sequence[int]) -> None:
        """Raise the epoch of these shards: a process that served them before commits nothing more."""
        state = open_state(self._folder, os.getpid())
        for shard in shards:
            with suppress(LedgerDamaged):  # its devices say so themselves, and the other shards are taken over
                ledger = state.ledger(shard * SHARD)
                ledger.raise_epoch(ledger.epoch + 1)
                self._epochs[shard] = ledger.epoch

    def answer(self, contents: Sequence[RecordDict], rows: Sequence[PackedMessage]) -> list[Reply]:
        """Answer packed messages of one shard.

        Raises:
            EpochPassed: where another worker has taken the shard over.
        """
        shard = (rows[0][1] - 1) // SHARD
        self._check_epoch(shard)
        replies = answer_packed(self._fleet, contents, rows)
        self._check_epoch(shard)  # else the devices of an earlier owner would say that their ledger is damaged
        return replies

    def _check_epoch(self, shard: int) -> None:
        # A ledger that was closed and is opened again takes the epoch of its file.
        try:
            ledger = open_state(self._folder, os.getpid()).ledger(shard * SHARD)
            epoch = ledger.epoch
            with ledger.transaction():
                pass  # EpochPassed where the file has a later one by now
        except EpochPassed:
            raise
        except LedgerDamaged:
            return  # the devices say so themselves
        if epoch != self._epochs.setdefault(shard, epoch):
            raise EpochPassed(f"shard {shard} is in epoch {epoch}; this worker serves epoch {self._epochs[shard]}")


class RayGrid(WorkerGrid):
    """Grid of the devices of a state folder, in Ray actors.

    Args:
        folder: State folder, on a disk that all machines of the actors have.
        size: Number of devices.
        workers: Number of actors; None for one per core of the cluster.
        address: Address of a cluster, None for this machine.
        worker: Class of the actors.

    Raises:
        ValueError: one line, where a machine does not have the folder.
        RayFailed: where Ray starts no workers.
    """

    def __init__(
        self, folder: Path, size: int, *, workers: int | None = None, address: str | None = None,
        worker: type[FleetWorker] = FleetWorker,
    ) -> None:  # fmt: skip
        super().__init__(size, RaySession(workers, address))
        self._folder = folder.resolve()
        self._kind = self._ray.remote(num_cpus=1)(worker)
        shards = -(-size // SHARD)
        count = max(1, min(shards, workers or self._session.cores))
        self._worker_numbers = itertools.count()
        self._actors: dict[int, Any] = {}
        self._may_lose += count
        for _ in range(count):
            self._start()
        self._server = {shard: shard % count for shard in range(shards)}
        try:
            self._check_sight()
        except BaseException:
            self.close()
            raise

    def _submit(self, shard: int, batch: list[Message], pending: dict[Any, Sent]) -> None:
        worker = self._server[shard]
        pending[self._actors[worker].answer.remote(*packed(batch))] = (shard, worker, batch)

    def _serves(self, worker: int) -> bool:
        return worker in self._actors

    def _start(self) -> None:
        self._actors[next(self._worker_numbers)] = self._kind.remote(str(self._folder))

    def _replace(self, worker: int, waiting: Collection[int]) -> None:
        """Give the shards of a lost worker to the others, or to a new one if there is none."""
        actor = self._actors.pop(worker, None)
        if actor is None:
            return  # another batch of this worker told so before
        self._ray.kill(actor)
        self._count_loss()
        if not self._actors:
            self._start()
            self._check_sight()
        heirs = sorted(self._actors)
        orphans = [shard for shard, server in self._server.items() if server == worker]
        for place, heir in enumerate(heirs):
            shards = orphans[place :: len(heirs)]
            self._server.update(dict.fromkeys(shards, heir))
            self._actors[heir].take_over.remote(shards)  # it runs before the answers that are submitted next

    def _check_sight(self) -> None:
        """Check that every worker has the devices' folder, by a file that is there for this moment only."""
        with sign(self._folder) as name:
            asked = [actor.sees.remote(name) for actor in self._actors.values()]
            blind = sorted({machine for machine, sees in self._ray.get(all_of(self._ray, asked)) if not sees})
        if blind:
            raise ValueError(
                f"{', '.join(blind)} does not have the devices in {self._folder}: all machines of a Ray cluster "
                "need the disk of this folder (nobody was asked)"
            )

    def close(self) -> None:
        """Stop the actors, and Ray if this grid started it."""
        for actor in self._actors.values():
            self._ray.kill(actor)
        self._session.close()
