"""Steps in the middle of an answer: a process dies, a disk fails, another process answers."""

from __future__ import annotations

from random import Random

from tests.faults.computers import Plan, Process
from tests.faults.hosts import Copy
from tests.faults.life import Life
from tests.faults.paper import Outcome

_HARM = ("dies", "loses power", "has a full disk", "has a failing disk")


def ask_and_harm(life: Life, rng: Random) -> None:
    """Ask, and let the process die or a disk fail at a step of the answer."""
    copy = life.copy(rng)
    process = life.process(copy, rng)
    door = rng.choice(("device", "device", "together"))
    people = list(copy.residents) if door == "together" else [rng.choice(copy.residents)]
    mail, how = life.letter(rng, copy, people[0]), rng.choice(_HARM)
    place = life.world.disks.disk("c")
    victim = place if life.setting.counter == "file" and rng.random() < 0.3 else copy.disk

    def act() -> None:
        if how in _HARM[:2]:
            life.computers.kill(process)
        elif how == _HARM[2]:
            victim.full = True
        else:
            victim.broken = True

    at = rng.randrange(1, 2 + (life.last_steps if rng.random() < 0.7 else 60))
    plan = Plan(at, act)
    outcomes = life.ask(copy, process, people, mail, door, plan)
    life.faults += plan.done
    if plan.done:
        life.tell(f"{process.name} {how} at step {at} of this answer:")
    fault = "" if not plan.done else "died" if how in _HARM[:2] else "failed"
    life.judged(copy, process, people, mail, outcomes, fault)
    if plan.done and how == _HARM[1]:
        life.tell(f"power is gone on {copy.name}; {life.power(copy, rng)}")
    elif process.dead:
        life.end(process)
    elif plan.done:
        victim.full = victim.broken = False
        _go_on(life, copy, process, rng)


def _go_on(life: Life, copy: Copy, process: Process, rng: Random) -> None:
    """Let the processes of a copy end after a disk failed, or go on.

    A row whose commit failed may be in the log nevertheless. Nobody sees it until all processes of the folder have
    ended, and a further row replaces it. The judge knows no such states, so where they go on it compares the replies.
    """
    if rng.random() < 0.7:
        for other in list(copy.processes):
            life.end(other)
    else:
        life.hurt.add(process)
        life.judge.lineages[copy.name[0]].loose = True


def ask_two_at_once(life: Life, rng: Random) -> None:
    """Ask two processes of one person at once: the second one answers inside a pause of the first."""
    copy = life.copy(rng)
    process = life.process(copy, rng)
    others = [other for other in life.copies.values() if other.name[0] == copy.name[0]]
    second = rng.choice(others)
    if second is copy:
        helper = next((p for p in copy.processes if p is not process), None) or life.start(copy)
    else:
        helper = life.process(second, rng)
    person = rng.choice(copy.residents)
    mail, mail2 = life.letter(rng, copy, person), life.letter(rng, second, person)
    doors = life.doors_of_two(rng)
    found: list[Outcome] = []

    def act() -> None:
        found.extend(life.ask(second, helper, [person], mail2, doors[1]))

    at = rng.randrange(1, 2 + life.last_steps)
    plan = Plan(at, act)
    (first,) = life.ask(copy, process, [person], mail, doors[0], plan)
    if not plan.done:
        life.judged(copy, process, [person], mail, [first], "")
        return
    life.faults += 1
    (other,) = found
    life.tell(f"device {person}: at step {at} of {process.name}'s answer to {mail.question}: {first.code}, "
              f"{helper.name} answers {mail2.question}: {other.code}")  # fmt: skip
    both = [life.asked(copy, process, mail), life.asked(second, helper, mail2)]
    if life.trouble:
        life.judge.lineages[copy.name[0]].loose = True
    life.trouble = False
    damaged = frozenset(k for k, said in enumerate((first, other)) if said.code == "LEDGER_DAMAGED")
    life.judge.race(person, both, (first, other), damaged)  # one of them waited for the other for too long
    life.hurt |= {p for p, said in ((process, first), (helper, other)) if said.code == "LEDGER_DAMAGED"}
