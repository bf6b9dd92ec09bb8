"""Base of the grids of Ray actors: a batch whose worker is lost goes to another one."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flwr.app import Message

from devices.fleet import BATCH
from devices.ledger.ledger import EpochPassed
from devices.wire import REPORTS_TYPE
from strategies.engines.grids import DirectGrid
from strategies.engines.packed_messages import by_shard, unpacked
from strategies.engines.ray_session import RaySession

START_SECONDS = 120.0  # in which Ray must bring the workers up
LOOK_SECONDS = 1.0  # between two looks whether the machines are there
MOST_LOST = 8  # workers in a row that end before anything is answered, beside those that were there at first

Sent = tuple[int, int, list[Message]]  # shard, worker, messages


class RayFailed(RuntimeError):
    """Ray brings no worker, or loses one after the other."""


class ShardGone(RuntimeError):
    """A machine has a shard no more that it had before."""


@contextmanager
def sign(folder: Path) -> Iterator[str]:
    """Yield the name of a file that is in a folder for this moment only: who has the file has that very folder."""
    name = f".seen-{uuid.uuid4().hex}"
    (folder / name).touch()
    try:
        yield name
    finally:
        (folder / name).unlink()


def all_of(ray: Any, asked: list[Any]) -> list[Any]:
    """Return the references to workers' first answers, when all are there.

    Raises:
        RayFailed: where Ray does not start all of them in :data:`START_SECONDS`.
    """
    done, late = ray.wait(asked, num_returns=len(asked), timeout=START_SECONDS)
    if late:
        raise RayFailed(f"Ray started {len(done)} of {len(asked)} workers in {START_SECONDS:.0f} seconds")
    return list(done)


class WorkerGrid(DirectGrid):
    """Base of the grids of Ray actors: batches of a shard go to its worker, and once more where it is lost."""

    def __init__(self, size: int, session: RaySession) -> None:
        super().__init__(size)
        self._session = session
        self._ray = session.ray
        self._losses = 0  # workers in a row that ended before anything was answered
        self._may_lose = MOST_LOST  # a machine has many workers, and all of them end with it

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
                    replies = self._session.get(reference)
                except (ShardGone, EpochPassed, *self._session.lost) as error:  # type: ignore[misc] # of no known type
                    if isinstance(error, EpochPassed) and self._serves(worker):
                        raise ValueError(f"another run works with these devices: {error}") from None
                    # The worker is lost, or its machine with the reply. What was committed is repeated.
                    self._replace(worker, {shard, *(waiting for waiting, *_ in pending.values())})
                    self._submit(shard, batch, pending)
                else:
                    self._losses = 0
                    self._answered(shard, batch)
                    yield from unpacked(replies, sent)

    def _serves(self, worker: int) -> bool:
        """Return whether this grid still asks a worker."""
        raise NotImplementedError

    def _gone(self) -> Collection[int]:
        """Return the workers whose machine is gone, before Ray says so."""
        return ()

    def _prepare(self, shards: Collection[int]) -> None:
        """Give every one of these shards a worker before anybody is asked."""

    def _submit(self, shard: int, batch: list[Message], pending: dict[Any, Sent]) -> None:
        """Give a batch to the worker of its shard."""
        raise NotImplementedError

    def _replace(self, worker: int, waiting: Collection[int]) -> None:
        """Give the shards of a lost worker to others; batches of the shards in ``waiting`` are open."""
        raise NotImplementedError

    def _answered(self, shard: int, batch: list[Message]) -> None:
        """Note that a batch was answered."""

    def _count_loss(self) -> None:
        self._losses += 1
        if self._losses > self._may_lose:
            raise RayFailed(f"Ray lost {self._losses} workers one after the other")
