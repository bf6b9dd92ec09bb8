"""Grid of devices that live on the disks of the machines of a Ray cluster, which share none.

A machine enrols shards of devices on its own disk: their secrets are made there. It alone answers for them.
``shards.json`` in the state folder has the machine and the epoch of each shard
(:mod:`ldpsim.devices.enrolment.placement`).

Where a worker ends, another one of its machine goes on from the disk. A machine that is lost and comes back has its
devices and their ledgers. Devices of a machine that stays away are silent. In a seeded simulation another machine
enrols them anew: their secrets and data are the same, so their answers have the same bytes; what they released before
is not known there, and their lifetime losses are not complete.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from flwr.app import Message

from ldpsim.devices.enrolment.parts import devices_of
from ldpsim.devices.enrolment.placement import Place, PlacedState
from ldpsim.strategies.engines.ray_grid import RayGrid
from ldpsim.strategies.engines.shard_worker import ShardWorker
from ldpsim.strategies.progress import warn


class PlacedGrid(RayGrid):
    """Grid of the devices of a placed state folder.

    Args:
        folder: The state folder.
        size: Number of devices.
        workers: Number of actors, at least one a machine; None for one per core of the cluster.
        address: Address of a cluster, None for this machine.
        worker: Class of the actors.

    Raises:
        ValueError: one line, where a machine cannot write its folder.
        RayFailed: where Ray starts no workers.
    """

    own_disks = True

    def __init__(
        self, folder: Path, size: int, *, workers: int | None = None, address: str | None = None,
        worker: type[ShardWorker] = ShardWorker,
    ) -> None:  # fmt: skip
        self._state = PlacedState(folder)
        self._places = self._state.places()
        self._told: set[int] = set()
        self._done: dict[int, list[list[Message]]] = {}  # answered batches of this grid, by shard
        super().__init__(folder, size, workers=workers, address=address, worker=worker)

    def _name(self) -> str:
        return self._state.devices_id

    def _look(self) -> None:
        self._machines.look()

    def _epoch(self, shard: int) -> int:
        return self._places[shard].epoch

    def _answered(self, shard: int, batch: list[Message]) -> None:
        self._done.setdefault(shard, []).append(batch)

    def _settle(self, shards: Collection[int]) -> None:
        """Give a worker to each of these shards that has none and can have one."""
        while unserved := self._unserved(shards):
            away = [shard for shard in unserved if shard in self._places and not self._is_there(shard)]
            self._tell(away)
            # Enrolled for a driver that ended before it wrote the place; nobody was asked.
            for machine, here in self._machines.shards.items():
                self._places = {shard: Place(machine) for shard in here & set(self._state.shards)} | self._places
            anew = [shard for shard in unserved if shard not in self._places]
            anew += away if self._state.seed is not None else []
            if not self._enrol(anew):
                self._look()
                continue
            served = [shard for shard in unserved if shard in self._places and self._is_there(shard)]
            self._places |= {
                shard: replace(self._places[shard], epoch=self._places[shard].epoch + 1) for shard in served
            }
            self._state.write_places(self._places)
            for place, shard in enumerate(served):
                servers = self._machines.on(self._places[shard].machine)
                self._server[shard] = servers[place % len(servers)]
            for shard in anew:  # a question in stages needs the earlier ones
                for batch in self._done.get(shard, ()):
                    self._ask(shard, self._server[shard], batch)
            return

    def _is_there(self, shard: int) -> bool:
        return shard in self._machines.shards.get(self._places[shard].machine, ())

    def _enrol(self, shards: list[int]) -> bool:
        """Enrol shards on the machines that are there; False where one of them was lost meanwhile."""
        workers = self._machines.workers
        numbers = sorted(workers, key=lambda number: self._machines.on(workers[number].machine).index(number))
        heirs: dict[str, list[int]] = {}
        for place, shard in enumerate(shards):
            heirs.setdefault(workers[numbers[place % len(numbers)]].machine, []).append(shard)
        asked = {}
        for machine, given in heirs.items():
            first = self._machines.on(machine)[0]
            people = self._state.people(given)
            asked[machine] = (
                first,
                workers[first].actor.enrol.remote(people, self._state.policy, given, self._state.seed),
            )
        complete = True
        for machine, (worker, reference) in asked.items():
            try:
                self._machines.session.get(reference)
            except self._machines.session.lost:
                self._lose(worker)
                complete = False
                continue
            self._machines.shards[machine] |= set(heirs[machine])
            for shard in heirs[machine]:
                before = self._places.get(shard)
                self._places[shard] = (
                    Place(machine) if before is None else Place(machine, before.epoch, known=False)
                )  # fmt: skip
        return complete

    def _tell(self, shards: list[int]) -> None:
        """Print one line for each machine whose devices are not there; each shard once."""
        missing: dict[str, list[int]] = {}
        for shard in shards:
            if shard not in self._told:
                missing.setdefault(self._places[shard].machine, []).append(shard)
        self._told.update(shards)
        for machine, lost in missing.items():
            count = len(devices_of(lost, self.size))
            here = (
                f"does not have {count:,} of its"
                if machine in self._machines.shards
                else f"is not in the Ray cluster with {count:,}"
            )
            done = "they are enrolled anew from the seed" if self._state.seed is not None else "they count as silent"
            warn(f"{machine} {here} devices: {done}, and their lifetime losses are not complete")
