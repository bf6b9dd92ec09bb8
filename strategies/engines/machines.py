"""Workers on the machines of a Ray cluster, each bound to its machine, and the shards that each machine has."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ldpsim.devices.atomic_files import private_folder
from ldpsim.strategies.engines.ray_session import Machine, RayFailed, RaySession, all_of, started
from ldpsim.strategies.engines.shard_worker import ShardWorker


@contextmanager
def sign(folder: Path) -> Iterator[str]:
    """Yield the name of a file that is in a folder for this moment only: who has the file has that very folder."""
    name = f".seen-{uuid.uuid4().hex}"
    (folder / name).touch()
    try:
        yield name
    finally:
        (folder / name).unlink()


@dataclass(frozen=True, eq=False)
class Worker:
    """A worker.

    Args:
        actor: Its Ray actor.
        node: Ray's id of the machine, as long as its Ray runs.
        address: Its address, None where it takes no connection of this process.
        machine: Name of the machine's disk, which stays; the node's id where all have one disk.
    """

    actor: Any
    node: str
    address: Machine | None
    machine: str


class Machines:
    """Workers for one enrolment.

    Args:
        session: Ray.
        devices: Id of the devices, or the folder that all machines have.
        workers: Number of workers; at least one a machine, None for one per core.
        most: Largest number of workers on a machine.
        kind: Class of the actors.
        own_disks: Whether the devices are on the machines' own disks.
    """

    def __init__(
        self, session: RaySession, devices: str, *, workers: int | None, most: int,
        kind: type[ShardWorker] = ShardWorker, own_disks: bool = True,
    ) -> None:  # fmt: skip
        self.session = session
        self.workers: dict[int, Worker] = {}
        self.shards: dict[str, set[int]] = {}  # on the disk of each machine that is there
        self._kind = session.ray.remote(num_cpus=1)(kind)
        self._devices, self._own_disks, self._wanted, self._most = devices, own_disks, workers, most
        self._numbers = 0
        self._ended: set[str] = set()  # machines that Ray may still take for present

    def look(self) -> None:
        """Start workers on every machine without one, and ask each for its shards.

        A machine that is lost meanwhile is left out; a late worker is given up where another one is there.

        Raises:
            RayFailed: where Ray starts none of several workers in time.
            ValueError: one line, where a machine cannot write its folder, or has a copy of another one's.
        """
        ray, served = self.session.ray, {worker.node for worker in self.workers.values()}
        there = {node: found for node, found in self.session.machines.items() if node not in self._ended}
        each = self._most if self._wanted is None else max(1, self._wanted // max(1, len(there)))
        begun = {}
        for node, found in there.items():
            for _ in range(0 if node in served else min(found.cores, each, self._most)):
                actor = self._kind.options(scheduling_strategy=self.session.on(node)).remote(
                    self._devices, own_disks=self._own_disks
                )  # fmt: skip
                begun[actor.describe.remote()] = node, actor
        asked = list(begun)
        try:
            if asked and not self.workers:
                all_of(ray, asked)
        except RayFailed:
            for _, actor in begun.values():
                ray.kill(actor)
            raise
        done, late = started(ray, asked)
        for reference in late:
            ray.kill(begun[reference][1])
        for reference in done:
            node, actor = begun[reference]
            try:
                machine, shards = self.session.get(reference)
            except self.session.lost:
                ray.kill(actor)
                continue
            machine = machine or node
            address = None if there[node].is_gone() else there[node]
            self.workers[self._numbers] = Worker(actor, node, address, machine)
            self._numbers += 1
            self.shards[machine] = set(shards)
        self._check_names(there)

    def _check_names(self, there: Mapping[str, Machine]) -> None:
        """Check that no two machines have one name: in the copy of a folder, devices would answer a second time."""
        hosts: dict[str, set[str]] = {}
        for worker in self.workers.values():
            if worker.node in there:
                hosts.setdefault(worker.machine, set()).add(there[worker.node].host)
        for machine, several in hosts.items():
            if len(several) > 1:
                raise ValueError(
                    f"{' and '.join(sorted(several))} have one LDPSIM_HOME/shards, {machine}, or one has a copy of "
                    "the other's: each machine needs a folder of its own"
                )

    def drop(self, number: int) -> None:
        """Give up a lost worker, and all of its machine where that is gone; forget a machine without a worker."""
        worker = self.workers[number]
        ended = worker.node in self._ended
        for other in [one for one, w in self.workers.items() if one == number or (ended and w.node == worker.node)]:
            self.session.ray.kill(self.workers.pop(other).actor)
        if not self.on(worker.machine):
            del self.shards[worker.machine]

    def gone(self) -> set[int]:
        """Return the workers whose machine refuses a connection that it took before: Ray itself says so much later."""
        addresses = {worker.node: worker.address for worker in self.workers.values()}
        ended = {node for node, address in addresses.items() if address is not None and address.is_gone()}
        self._ended |= ended
        return {number for number, worker in self.workers.items() if worker.node in ended}

    def on(self, machine: str) -> list[int]:
        """Return the workers on a machine."""
        return [number for number, worker in self.workers.items() if worker.machine == machine]

    def close(self) -> None:
        """Stop the workers, and Ray if it was started here."""
        for worker in self.workers.values():
            self.session.ray.kill(worker.actor)
        self.workers.clear()
        self.session.close()


def machines_without(folder: Path, address: str | None) -> list[str]:
    """Return the names of the machines of a Ray cluster that do not have a folder, which is made if it is missing.

    Raises:
        RayFailed: where a machine does not answer in time.
        OSError: where the folder cannot be made or written.
    """
    private_folder(folder)
    session = RaySession(None, address)

    def look(path: str) -> tuple[str, bool]:  # a function in a function goes by value: nothing is imported there
        import os
        import socket

        return socket.gethostname(), os.path.isfile(path)

    try:
        task = session.ray.remote(num_cpus=0, max_retries=0)(look)
        with sign(folder.resolve()) as name:
            path = str(folder.resolve() / name)
            asked: Sequence[Any] = [
                task.options(scheduling_strategy=session.on(node)).remote(path) for node in session.machines
            ]
            seen = session.ray.get(all_of(session.ray, list(asked)))
        return sorted({machine for machine, sees in seen if not sees})
    finally:
        session.close()
