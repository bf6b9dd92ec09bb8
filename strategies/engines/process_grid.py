"""Grid of all devices of a state folder, in processes of this machine: one task for each ledger shard."""

from __future__ import annotations

import multiprocessing
import os
import resource
from collections.abc import Iterable, Iterator
from pathlib import Path

from flwr.app import Message

from ldpsim.devices.client_app import open_state
from ldpsim.devices.enrolment.state import SHARD
from ldpsim.devices.fleet import Fleet
from ldpsim.strategies.engines.flower_internals import assume_identity
from ldpsim.strategies.engines.grids import RUN_ID, DirectGrid
from ldpsim.strategies.engines.packed_messages import Packed, Reply, answer_packed, by_shard, packed, unpacked
from ldpsim.strategies.engines.pool import Pool, available_cores

# A process takes one to two seconds to start, in which it would answer for 20,000 devices.
PROCESSES_PAY_FROM = 50_000
_MOST_FILES = 1 << 16  # the ledgers of twenty million devices


def worker_processes(devices: int, wanted: int | None) -> int:
    """Return how many processes answer for a state folder; 1: this process itself.

    Args:
        devices: Number of devices that are asked.
        wanted: ``--workers``; None for one per core.
    """
    if devices < PROCESSES_PAY_FROM or multiprocessing.parent_process() is not None:
        return 1  # a worker of another pool has one core
    return min(wanted or available_cores(), -(-devices // SHARD))


class ProcessGrid(DirectGrid):
    """Grid of devices in the processes of a pool.

    A task opens the ledger of its shard and closes it, so a shard has one process at a time. The task of a process that
    dies runs once more: devices that answered give their stored bytes.

    Args:
        folder: State folder.
        size: Number of devices.
        pool: The processes.
    """

    def __init__(self, folder: Path, size: int, pool: Pool) -> None:
        super().__init__(size)
        self._folder = str(folder.resolve())
        self._pool = pool

    @property
    def takes_batches(self) -> bool:
        """True: a task is for a whole shard."""
        return True

    def deliver(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Give each shard's messages to a process; yield replies as shards come back."""
        shards, sent = by_shard(messages)
        tasks = ((self._folder, packed(shard)) for shard in shards.values())
        for _, future in self._pool.each(_answer_shard, enumerate(tasks)):
            yield from unpacked(future.result(), sent)


def _answer_shard(task: tuple[str, Packed]) -> list[Reply]:
    """Answer the messages of one shard, in a process of a pool."""
    folder, (contents, rows) = task
    assume_identity(run_id=RUN_ID)
    try:
        return answer_packed(Fleet(Path(folder)), contents, rows)
    finally:
        open_state(folder, os.getpid()).close()


def allow_open_files() -> None:
    """Raise the soft limit of open files as far as it may be: a ledger that is in use has three files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
