"""Schedules of races: two or three processes of a folder or its copies answer at once, in any order of their steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.faults.computers import Plan, Process
from tests.faults.hosts import Copy, Mail
from tests.faults.judge import Violation
from tests.faults.life import Life
from tests.faults.paper import Outcome
from tests.faults.training import TRAININGS
from tests.faults.turns import Turns
from tests.faults.world import SETTINGS

RACES = tuple(replace(setting, racing=True) for setting in (*SETTINGS, *TRAININGS))
_Said = Sequence[Sequence[Outcome]]  # by process and person
_SHARES = (0.02, 0.1, 0.4)  # of the steps after which another process goes on


@dataclass
class _Racer:
    """One of the processes.

    Args:
        copy: The copy whose folder it works with.
        process: The process.
        mail: What it is asked.
        plan: At a step of its answer, at times: processes die, or a backup is made of its disk.
    """

    copy: Copy
    process: Process
    mail: Mail
    plan: Plan | None = None


def race(life: Life, rng: Random) -> None:
    """Ask several processes of the same people at once; at times one or all of a machine die."""
    copy = life.copy(rng)
    people = list(copy.residents) if rng.random() < 0.3 else [rng.choice(copy.residents)]
    racers = _racers(life, rng, copy, people[0])
    if len(racers) < 2:
        return
    dying: list[Process] = []
    if rng.random() < 0.4:
        racer, all_die = rng.choice(racers), rng.random() < 0.3
        dying = [other.process for other in racers if other is racer or (all_die and other.copy is racer.copy)]
        racer.plan = Plan(rng.randrange(1, 2 + life.last_steps), _death(life, dying))
    racer, more = rng.choice(racers), rng.random()
    backup: Plan | None = None
    if more < 0.4 and racer.plan is None:
        backup = racer.plan = Plan(rng.randrange(1, 2 + life.last_steps), _backup(life, racer.copy))
    doors = [rng.choice(life.doors) for _ in racers]
    turns = Turns(life.computers, Random(rng.getrandbits(32)), rng.choice(_SHARES))
    works = [_work(life, racer, people, door) for racer, door in zip(racers, doors, strict=True)]
    said: _Said = turns.run(works)
    life.faults += 1
    _judge(life, turns, people, racers, said, racer.copy if backup is not None and backup.done else None)
    for racer in racers:
        _bury(life, rng, racer)


def _racers(life: Life, rng: Random, copy: Copy, person: int) -> list[_Racer]:
    """Return the processes that take part: each has its ledger open, and no step of it failed before."""
    racers: list[_Racer] = []
    copies = [other for other in life.copies.values() if other.name[0] == copy.name[0]]
    for _ in range(2 if rng.random() < 0.6 else 3):
        other = rng.choice(copies)
        free = [process for process in other.processes if all(racer.process is not process for racer in racers)]
        process = rng.choice(free) if free else life.start(other)
        if process not in life.hurt:
            racers.append(_Racer(other, process, life.letter(rng, other, person)))
    return racers


def _death(life: Life, processes: Sequence[Process]) -> Callable[[], None]:
    def act() -> None:
        for process in processes:
            life.computers.kill(process)

    return act


def _backup(life: Life, copy: Copy) -> Callable[[], None]:
    """Return what takes a snapshot of a machine's disk at once; processes go on."""

    def act() -> None:
        life.snapshots[copy.name] = copy.disk.files()

    return act


def _work(life: Life, racer: _Racer, people: list[int], door: str) -> Callable[[], Sequence[Outcome]]:
    def work() -> Sequence[Outcome]:
        found = life.ask(racer.copy, racer.process, people, racer.mail, door, racer.plan)
        if racer.process.dead:
            life.computers.free(racer.process)
        return found

    return work


def _judge(
    life: Life, turns: Turns, people: Sequence[int], racers: Sequence[_Racer], said: _Said, backed_up: Copy | None
) -> None:
    life.tell(f"{len(racers)} processes are asked at once, with {turns.switches} changes of turn:")
    for racer, outcomes in zip(racers, said, strict=True):
        dead = " dies: " if racer.process.dead else ": "
        told = ", ".join(f"{who} {outcome.code or 'nothing'}" for who, outcome in zip(people, outcomes, strict=True))
        life.tell(f"  {racer.process.name} for {racer.mail.question}{dead}{told}")
    kept = "" if backed_up is None else backed_up.name
    if backed_up is not None:
        life.tell(f"  a backup was made of {kept} meanwhile")
        life.judge.copied([person for person in backed_up.residents if person not in people], kept, f"{kept}@")
    if turns.in_vain:
        raise Violation(f"{racers[min(turns.in_vain)].process.name} waits for a lock that nobody gives up")
    failed = {k for k, racer in enumerate(racers) if racer.process.dead or life.trouble}
    life.trouble = False
    for at, person in enumerate(people):
        outcomes = [found[at] for found in said]
        asked = [life.asked(racer.copy, racer.process, racer.mail) for racer in racers]
        cut = frozenset(k for k in failed if outcomes[k].code in ("", "LEDGER_DAMAGED"))
        life.judge.race(person, asked, outcomes, cut, kept)
    damaged = [any(outcome.code == "LEDGER_DAMAGED" for outcome in found) for found in said]
    life.hurt |= {racer.process for racer, was in zip(racers, damaged, strict=True) if was}


def _bury(life: Life, rng: Random, racer: _Racer) -> None:
    """Give up a process that died; at times its machine loses power."""
    if not racer.process.dead:
        return
    life.faults += 1
    life.end(racer.process)
    if rng.random() < 0.4:
        life.tell(f"power is gone on {racer.copy.name}; {life.power(racer.copy, rng)}")
