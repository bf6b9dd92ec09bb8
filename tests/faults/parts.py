"""Schedules of one machine of a cluster: its part is enrolled, interrupted, copied, taken away and put in its place.

Here the judge knows no order of answers. It compares all replies, and looks for their bytes on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.parts import Parts
from ldpsim.devices.enrolment.state import is_enrolled
from ldpsim.devices.ledger.ledger import LedgerDamaged
from tests.faults.computers import Plan, Process
from tests.faults.hosts import Copy, Mail
from tests.faults.judge import Judge, Violation
from tests.faults.life import Life
from tests.faults.paper import Lineage
from tests.faults.questions import HONEST, N, bytes_of
from tests.faults.world import PEOPLE, Setting, World, wide_policy

PARTS = Setting("parts")
_NAMES = ("part-0", "part-1", "part-2", "part-0.bak", "part-00")


class PartsLife(Life):
    """A schedule of a machine with parts; the arguments are those of :class:`tests.faults.life.Life`."""

    def __init__(self, world: World, seed: int, *, twin: bool = False) -> None:
        super().__init__(world, PARTS, seed, twin=twin)
        self.main = Random(seed).choice(HONEST)
        self.judge = Judge({"p": Lineage(counted=True, replay=False, loose=True)})
        self.machine = Copy("p", world.disks.disk("p"))
        self.copies = {"p": self.machine}
        self.judge.states = {person: set() for person in range(N)}
        self.origin = ""  # name of the part that was enrolled
        self.replaced = False  # whether a copy was ever in its place

    @property
    def shards(self) -> Path:
        return self.machine.disk.root / "shards" / "id"

    def enrolled(self) -> list[str]:
        if not self.shards.is_dir():
            return []
        return sorted(name for name in os.listdir(self.shards) if is_enrolled(self.shards / name))

    def worker(self) -> Process:
        if not self.machine.processes:
            self.machine.processes.append(Process("p", "the worker"))
        return self.machine.processes[0]

    def stop_all(self) -> None:
        for process in list(self.machine.processes):
            self.end(process)

    def everybody(self, mail: Mail, people: list[int], plan: Plan | None = None) -> list[str]:
        """Ask devices of the part that the worker finds; return the codes."""
        worker, copy = self.worker(), self.machine

        def serve() -> list[object]:
            try:
                parts = worker.opened.get("parts")
                if parts is None:
                    parts = worker.opened["parts"] = Parts("id", copy.disk.root)
                part = parts.folder(0)
                if part is None:
                    return [Refusal.LEDGER_DAMAGED] * len(people)
                state = self.world.state_of(worker, str(part))
            except (ValueError, LedgerDamaged, OSError):
                return [Refusal.LEDGER_DAMAGED] * len(people)
            return [self._by_device(state, person, mail.data) for person in people]

        outcomes = self.ask(copy, worker, people, mail, serve, plan)
        said = ", ".join(
            f"{person} {outcome.code or 'nothing'}" for person, outcome in zip(people, outcomes, strict=True)
        )
        self.tell(f"the worker asks for {mail.question}: {said}")
        for person, outcome in zip(people, outcomes, strict=True):
            self.judge.ask(person, self.asked(copy, mail, False), outcome)
        return [outcome.code for outcome in outcomes]


def _plan(life: PartsLife, rng: Random) -> Plan | None:
    if rng.random() < 0.5:
        return None
    return Plan(rng.randrange(1, 140), lambda: life.computers.kill(life.worker()))


def _after(life: PartsLife, rng: Random) -> None:
    """Bury a worker that died; at times its machine lost power."""
    worker = life.worker()
    if worker.dead:
        life.faults += 1
        if rng.random() < 0.6:
            life.tell(f"power is gone on the machine; {life.power(life.machine, rng)}")
        else:
            life.tell("the worker is killed")
            life.end(worker)


def _enrol(life: PartsLife, rng: Random) -> None:
    """Enrol the shard, as a run does that finds it nowhere; the worker may die at any step."""
    worker = life.worker()
    before = life.enrolled()

    def enrol() -> str:
        try:
            parts = Parts("id", life.machine.disk.root)
            parts.enrol(PEOPLE[0], wide_policy(PARTS), [0], seed=None)
        except (ValueError, OSError) as error:
            return str(error).partition(": ")[2][-60:]
        return ""

    said = life.computers.run(worker, enrol, _plan(life, rng))
    life.tell(f"the worker enrols the shard{': ' + said if said else ''}")
    made = [name for name in life.enrolled() if name not in before]
    if made and not life.origin:
        life.origin = made[0]
    elif made:
        life.replaced = True
    _after(life, rng)


def _ask(life: PartsLife, rng: Random) -> None:
    question = life.main if rng.random() < 0.6 else rng.choice(HONEST)
    people = list(range(N)) if rng.random() < 0.3 else [rng.randrange(N)]
    life.everybody(Mail("p", people[0], question, bytes_of(question), ""), people, _plan(life, rng))
    _after(life, rng)


def _copy(life: PartsLife, rng: Random) -> None:
    """Copy a part to another name."""
    there = life.enrolled()
    free = [name for name in _NAMES if not (life.shards / name).exists()]
    if not (there and free):
        return
    source, target = rng.choice(there), rng.choice(free)
    life.stop_all()
    disk = life.machine.disk
    for name, data in disk.files(f"shards/id/{source}/").items():
        disk.put(f"shards/id/{target}/{name}", data)
    life.faults += 1
    life.tell(f"{source} is copied to {target}")


def _move(life: PartsLife, rng: Random) -> None:
    """Take a part away, or give it another name."""
    there = life.enrolled()
    free = [name for name in _NAMES if not (life.shards / name).exists()]
    if not (there and free):
        return
    source, target = rng.choice(there), rng.choice([*free, "part-0"] if "part-0" in free else free)
    life.stop_all()
    _rename(life, source, target)
    life.faults += 1
    life.tell(f"{source} gets the name {target}")


def _rename(life: PartsLife, source: str, target: str) -> None:
    disk = life.machine.disk
    for name, data in disk.files(f"shards/id/{source}/").items():
        disk.put(f"shards/id/{target}/{name}", data)
        disk.drop(f"shards/id/{source}/{name}")
    if life.origin == source:
        life.origin = target
    elif target == "part-0":
        life.replaced = True


def _remove(life: PartsLife, rng: Random) -> None:
    there = life.enrolled()
    if not there:
        return
    name = rng.choice(there)
    life.stop_all()
    disk = life.machine.disk
    for file in disk.files(f"shards/id/{name}/"):
        disk.drop(f"shards/id/{name}/{file}")
    life.replaced |= name == life.origin
    life.faults += 1
    life.tell(f"{name} is deleted")


def _new_disk(life: PartsLife, rng: Random) -> None:
    """Put an empty disk in the place of the one with the parts, and enrol the shard; counters are on another disk."""
    while life.enrolled():
        _remove(life, rng)
    _enrol(life, rng)


def _restart(life: PartsLife, rng: Random) -> None:
    life.tell("the worker starts again")
    life.stop_all()


def _power(life: PartsLife, rng: Random) -> None:
    life.faults += 1
    life.tell(f"power is gone on the machine; {life.power(life.machine, rng)}")


PARTS_ACTIONS: dict[str, tuple[float, Callable[[PartsLife, Random], None]]] = {
    "enrol": (3.0, _enrol), "ask the part": (5.0, _ask), "copy the part": (1.5, _copy), "rename": (1.5, _move),
    "delete": (0.5, _remove), "new disk": (0.8, _new_disk), "restart the worker": (1.0, _restart),
    "lose power": (0.7, _power),
}  # fmt: skip


def settle_parts(life: PartsLife, rng: Random) -> None:
    """End a schedule: a part that lost nothing, alone under its name, answers."""
    life.stop_all()
    if not life.origin or life.replaced or life.origin not in life.enrolled():
        return
    for name in life.enrolled():
        if name != life.origin:
            for file in life.machine.disk.files(f"shards/id/{name}/"):
                life.machine.disk.drop(f"shards/id/{name}/{file}")
    if life.origin != "part-0":
        _rename(life, life.origin, "part-0")
    life.tell("the part is alone again under its own name")
    codes = life.everybody(Mail("p", 0, life.main, bytes_of(life.main), ""), list(range(N)))
    if not set(codes) <= {"report", "replay", "REPORT_COLLECTED"}:
        raise Violation(f"a part that lost nothing replies {', '.join(codes)}")
