"""Grid of devices in Ray actors, which survives the loss of a worker or of a machine.

The devices are in one folder, and every worker must have that very folder: each says so before anybody is asked.
:mod:`ldpsim.strategies.engines.placed_grid` has devices on the machines' own disks.

One worker serves a ledger shard at a time. Where a worker is lost, another one takes its shards over under a new epoch
and gets the messages that are open: devices that answered give their stored bytes, and a lost worker that
still runs can commit nothing more (:class:`ldpsim.devices.ledger.ledger.EpochPassed`).
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from flwr.app import Message

from ldpsim.devices.enrolment.state import SHARD, State
from ldpsim.devices.fleet import BATCH
from ldpsim.devices.ledger.ledger import EpochPassed, LedgerDamaged
from ldpsim.devices.wire import REPORTS_TYPE
from ldpsim.strategies.engines.grids import DirectGrid
from ldpsim.strategies.engines.machines import Machines, sign
from ldpsim.strategies.engines.packed_messages import by_shard, packed, unpacked
from ldpsim.strategies.engines.ray_session import RayFailed, RaySession, all_of
from ldpsim.strategies.engines.shard_worker import ShardGone, ShardWorker

LOOK_SECONDS = 1.0  # between two looks whether the machines are there
MOST_LOST = 8  # workers in a row that end before anything is answered, beside those that were there at first

Sent = tuple[int, int, list[Message]]  # shard, worker, messages


class RayGrid(DirectGrid):
    """Grid of the devices of a state folder, in Ray actors.

    Args:
        folder: State folder, on a disk that all machines of the actors have.
        size: Number of devices.
        workers: Number of actors, at least one a machine; None for one per core of the cluster.
        address: Address of a cluster, None for this machine.
        worker: Class of the actors.

    Raises:
        ValueError: one line, where a machine does not have the folder.
        RayFailed: where Ray starts no workers.
    """

    own_disks = False  # whether the devices are on the machines' own disks

    def __init__(
        self, folder: Path, size: int, *, workers: int | None = None, address: str | None = None,
        worker: type[ShardWorker] = ShardWorker,
    ) -> None:  # fmt: skip
        super().__init__(size)
        self._folder = folder.resolve()
        self._server: dict[int, int] = {}  # worker of each shard
        self._epochs: dict[int, int | None] = {}  # of the shards that had a worker; None: that of the ledger
        self._next_look = 0.0
        self._losses = 0  # workers in a row that ended before anything was answered
        shards = range(-(-size // SHARD))
        self._machines = Machines(
            RaySession(workers, address), self._name(), workers=workers, most=len(shards), kind=worker,
            own_disks=self.own_disks,
        )  # fmt: skip
        try:
            self._look()
            self._may_lose = MOST_LOST + len(self._machines.workers)  # all workers of a machine end with it
            self._settle(shards)
        except BaseException:
            self.close()
            raise

    @property
    def takes_batches(self) -> bool:
        """True: an actor hosts its shards."""
        return True

    def deliver(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Send batches to the actors; yield replies as batches come back.

        Raises:
            ValueError: where another run takes the devices over meanwhile.
        """
        shards, sent = by_shard(messages)
        pending: dict[Any, Sent] = {}
        self._prepare(shards)
        for shard, queue in shards.items():
            # A message for many devices goes alone: its reply holds the reports of a whole batch.
            many = any(message.metadata.message_type == REPORTS_TYPE for message in queue)
            size = 1 if many else BATCH
            for start in range(0, len(queue), size):
                self._submit(shard, queue[start : start + size], pending)
        while pending:
            done, _ = self._ray.wait(list(pending), num_returns=1, timeout=LOOK_SECONDS)
            gone = self._gone()
            for reference in [*done, *(one for one, (_, worker, _) in pending.items() if worker in gone)]:
                if reference not in pending:
                    continue
                shard, worker, batch = pending.pop(reference)
                try:
                    if reference not in done:
                        raise ShardGone(f"worker {worker} is gone")
                    replies = self._machines.session.get(reference)
                except (ShardGone, EpochPassed, *self._machines.session.lost) as error:  # type: ignore[misc] # of no known type
                    if isinstance(error, EpochPassed) and self._serves(worker):
                        raise ValueError(f"another run works with these devices: {error}") from None
                    # The worker is lost, or its machine with the reply. What was committed is repeated.
                    self._replace(worker, {shard, *(waiting for waiting, *_ in pending.values())})
                    self._submit(shard, batch, pending)
                else:
                    self._losses = 0
                    self._answered(shard, batch)
                    yield from unpacked(replies, sent)

    def _gone(self) -> Collection[int]:
        """Return the workers whose machine is gone, before Ray says so."""
        if time.monotonic() < self._next_look:
            return ()
        gone = self._machines.gone()
        self._next_look = time.monotonic() + LOOK_SECONDS
        return gone

    def _serves(self, worker: int) -> bool:
        """Return whether this grid still asks a worker."""
        return worker in self._machines.workers

    def _prepare(self, shards: Collection[int]) -> None:
        """Give every one of these shards a worker before anybody is asked."""
        if not self._server.keys() >= set(shards):
            self._look()
            self._settle(shards)

    def _submit(self, shard: int, batch: list[Message], pending: dict[Any, Sent]) -> None:
        """Give a batch to the worker of its shard."""
        worker = self._server.get(shard)
        if worker is not None:  # else nobody is there: these devices are silent
            pending[self._ask(shard, worker, batch)] = (shard, worker, batch)

    def _ask(self, shard: int, worker: int, batch: list[Message]) -> Any:
        return self._machines.workers[worker].actor.answer.remote(*packed(batch), self._epoch(shard))

    def _replace(self, worker: int, waiting: Collection[int]) -> None:
        """Give the shards of a lost worker to others; batches of the shards in ``waiting`` are open."""
        if self._serves(worker):  # else another batch told so before
            self._lose(worker)
            self._look()
            self._settle(waiting)

    def _lose(self, worker: int) -> None:
        self._machines.drop(worker)
        self._losses += 1
        if self._losses > self._may_lose:
            raise RayFailed(f"Ray lost {self._losses} workers one after the other")
        self._server = {shard: server for shard, server in self._server.items() if self._serves(server)}

    def _unserved(self, shards: Collection[int]) -> list[int]:
        """Return those of these shards that have no worker; RayFailed where nobody could serve them."""
        unserved = sorted(set(shards) - self._server.keys())
        if unserved and not self._machines.workers:
            raise RayFailed("no machine of the Ray cluster is left")
        return unserved

    def _name(self) -> str:
        """Return what tells a worker where its devices are."""
        return str(self._folder)

    def _look(self) -> None:
        """Start workers where there are none; each has the devices' folder, by a file that is there for this moment."""
        workers, before = self._machines.workers, set(self._machines.workers)
        self._machines.look()
        new = workers.keys() - before  # the others may be in the middle of a batch
        if not new:
            return
        with sign(self._folder) as name:
            asked = [workers[number].actor.sees.remote(name) for number in new]
            blind = sorted({machine for machine, sees in self._ray.get(all_of(self._ray, asked)) if not sees})
        if blind:
            raise ValueError(
                f"{', '.join(blind)} does not have the devices in {self._folder}: all machines of a Ray cluster "
                "need the disk of this folder (nobody was asked)"
            )

    def _settle(self, shards: Collection[int]) -> None:
        """Give a worker to each of these shards that has none and can have one."""
        for place, shard in enumerate(self._unserved(shards)):
            self._server[shard] = sorted(self._machines.workers)[place % len(self._machines.workers)]
            self._epochs[shard] = self._next_epoch(shard) if shard in self._epochs else None

    def _epoch(self, shard: int) -> int | None:
        """Return the epoch in which the worker of a shard serves it; None: that of its ledger."""
        return self._epochs[shard]

    def _next_epoch(self, shard: int) -> int | None:
        if (known := self._epochs[shard]) is not None:
            return known + 1
        state = State(self._folder)
        try:
            return state.ledger(shard * SHARD).epoch + 1
        except LedgerDamaged:
            return None  # its devices say so themselves
        finally:
            state.close()

    def _answered(self, shard: int, batch: list[Message]) -> None:
        """Note that a batch was answered."""

    @property
    def _ray(self) -> Any:
        return self._machines.session.ray

    def close(self) -> None:
        """Stop the actors, and Ray if this grid started it."""
        self._machines.close()
