"""The steps that a schedule is made of. Each takes the schedule and its own random numbers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.faults.audit import audit
from tests.faults.collecting import collect, finish
from tests.faults.harm import ask_and_harm, ask_two_at_once
from tests.faults.hosts import Copy
from tests.faults.life import Life

MOST_COPIES = 2  # of a lineage


def _ask(life: Life, rng: Random) -> None:
    """Ask one device, or all of a copy together."""
    copy = life.copy(rng)
    process = life.process(copy, rng)
    door = life.door if rng.random() < 0.7 else rng.choice(life.doors)
    people = list(copy.residents) if door == "together" or rng.random() < 0.2 else [rng.choice(copy.residents)]
    mail = life.letter(rng, copy, people[0])
    life.judged(copy, process, people, mail, life.ask(copy, process, people, mail, door), "")


def _restart(life: Life, rng: Random) -> None:
    copy = life.copy(rng)
    for process in list(copy.processes):
        if rng.random() < 0.5:
            life.tell(f"{process.name} stops")
            life.stop(process)
        else:
            life.tell(f"{process.name} is killed")
            life.faults += 1
            life.end(process)


def _power(life: Life, rng: Random) -> None:
    copy = life.copy(rng)
    life.faults += 1
    life.tell(f"power is gone on {copy.name}; {life.power(copy, rng)}")


def _another(life: Life, rng: Random) -> None:
    """Start a further process on a folder."""
    copy = life.copy(rng)
    if len(copy.processes) > 2 or life.judge.lineages[copy.name[0]].loose:
        return
    process = life.start(copy)
    life.tell(f"{process.name} starts beside the others")


def _copy(life: Life, rng: Random) -> None:
    copy = life.copy(rng)
    lineage = copy.name[0]
    number = sum(name[0] == lineage for name in life.copies)
    if number > MOST_COPIES:
        return
    made = Copy(f"{lineage}{number}", life.world.disks.disk(f"{lineage}{number}"), touched=True)
    copy.disk.sync_all()
    made.disk.load(copy.disk.files())
    life.copies[made.name] = made
    life.world.records[made.name] = life.world.records.get(copy.name, 0)
    life.judge.copied(copy.residents, copy.name, made.name)
    life.judge.lineages[lineage].free |= not life.setting.counter
    life.faults += 1
    life.tell(f"the folder of {copy.name} is copied to machine {made.name}")


def _back_up(life: Life, rng: Random) -> None:
    copy = life.copy(rng)
    copy.disk.sync_all()
    life.snapshots[copy.name] = copy.disk.files()
    life.judge.copied(copy.residents, copy.name, f"{copy.name}@")
    life.tell(f"a backup is made of {copy.name}")


def _restore(life: Life, rng: Random) -> None:
    """Put an old disk back; its processes end first."""
    ready = sorted(life.snapshots)
    if not ready:
        _back_up(life, rng)
        return
    copy = life.copies[rng.choice(ready)]
    for process in list(copy.processes):
        life.end(process)
    copy.disk.load(life.snapshots[copy.name])
    life.judge.copied(copy.residents, f"{copy.name}@", copy.name)
    life.judge.lineages[copy.name[0]].free |= not life.setting.counter
    life.faults += 1
    life.tell(f"{copy.name} comes back with the disk of its backup")


def _rot(life: Life, rng: Random) -> None:
    """Flip a bit of a ledger or a counter; the copies of the folder are judged by their replies alone from here on."""
    copy = life.copy(rng)
    counters = sorted(life.world.disks.disk("c").now)
    lineage = life.judge.lineages[copy.name[0]]
    if counters and rng.random() < 0.3:
        path, disk = counters[0 if copy.name[0] == "a" else -1], life.world.disks.disk("c")
        for one in life.judge.lineages.values():  # each host has a file there, of a random name
            one.loose = one.changed = True
    else:
        for process in list(copy.processes):
            life.end(process)
        disk = copy.disk
        path = rng.choice(sorted(p for p in disk.now if "/ledger" in p and not p.endswith("-shm")) or [""])
        if not path:
            return
    lineage.loose = True
    lineage.free |= not life.setting.counter
    life.faults += 1
    life.tell(f"{copy.name}: {disk.rot(path, rng, _before_reports(life))} is flipped")


def _before_reports(life: Life) -> list[bytes]:
    """Return what stands in a ledger in front of each report that somebody asked for."""
    asked = [question for question in life.judge.asks.values() if not question.fault]
    found = {life.mark(question, name): None for question in asked for name in question.attributes}
    return list(found) if life.setting.training else sorted(found)  # models, and so marks, differ with the records


def _counter_away(life: Life, rng: Random) -> None:
    """Cut the counter off, or bring it back, or let its machine lose power."""
    place, server = life.world.disks.disk("c"), life.world.server
    kind = rng.randrange(4)
    if life.setting.counter == "server":
        if kind == 0:
            server.down = not server.down
            life.tell(f"the counter's server is {'cut off' if server.down else 'there again'}")
        elif kind == 1:
            server.lose_power()
            life.tell("the counter's server loses power and starts again")
        else:
            server.breaks, server.spares_reads = ("before", "after")[kind - 2], rng.random() < 0.5
            which = "commit of changes" if server.spares_reads else "commit"
            life.tell(f"the connection to the counter will break {server.breaks} its next {which}")
    elif life.setting.counter == "file":
        if kind < 2:
            place.broken = not place.broken
            life.tell(f"the counter's disk {'fails' if place.broken else 'works again'}")
        else:
            life.tell(f"the counter's machine loses power; {place.lose_power(rng)}")
    life.faults += 1


def _room(life: Life, rng: Random) -> None:
    copy = life.copy(rng)
    copy.disk.full = not copy.disk.full
    life.faults += 1
    life.tell(f"the disk of {copy.name} {'is full' if copy.disk.full else 'has room again'}")
    life.hurt |= set(copy.processes)


def _send(life: Life, rng: Random) -> None:
    copy = life.copy(rng)
    for person in copy.residents:
        life.mail.append(life.letter(rng, copy, person))
    life.tell(f"questions are sent to {copy.name} and wait on the way")


def _deliver(life: Life, rng: Random) -> None:
    """Deliver some messages in any order; some stay on the way and come once more, some are lost."""
    for _ in range(min(len(life.mail), rng.randrange(1, 4))):
        at = rng.randrange(len(life.mail))
        mail = life.mail[at] if rng.random() < 0.3 else life.mail.pop(at)
        life.faults += 1
        if rng.random() < 0.15:
            life.tell(f"a message to device {mail.person} is lost")
            continue
        copy = life.copies[mail.copy]
        process = life.process(copy, rng)
        outcomes = life.ask(copy, process, [mail.person], mail, life.door)
        life.judged(copy, process, [mail.person], mail, outcomes, "")


def _clock(life: Life, rng: Random) -> None:
    copy = life.copy(rng)
    life.world.clocks[copy.name] = rng.choice((-3e8, -3600.0, 0.0, 3600.0, 1e9))
    life.faults += 1
    life.tell(f"the clock of {copy.name} jumps")


def _records(life: Life, rng: Random) -> None:
    """Change the records of a machine; its processes read them when they start again."""
    copy = life.copy(rng)
    life.world.records[copy.name] = 1 - life.world.records.get(copy.name, 0)
    life.judge.lineages[copy.name[0]].changed = True
    life.faults += 1
    life.tell(f"the records on {copy.name} change")
    for process in list(copy.processes):
        life.stop(process)


Action = Callable[[Life, Random], None]
ACTIONS: dict[str, tuple[float, Action]] = {
    "ask": (6.0, _ask), "ask and harm": (4.0, ask_and_harm), "ask two at once": (2.5, ask_two_at_once),
    "restart": (1.5, _restart),
    "power loss": (1.5, _power), "another process": (0.8, _another), "copy": (1.0, _copy),
    "back up": (0.8, _back_up), "put back": (1.0, _restore), "bit rot": (0.3, _rot),
    "counter away": (1.0, _counter_away), "full disk": (0.5, _room), "collect": (0.7, collect),
    "send": (0.8, _send), "deliver": (1.5, _deliver), "clock": (0.3, _clock), "records": (0.3, _records),
}  # fmt: skip


def settle(life: Life, rng: Random) -> None:
    """End a schedule: everything works again, and each device of each copy is asked once more and audited."""
    world = life.world
    world.server.down, world.server.breaks = False, ""
    for disk in world.disks.by_name.values():
        disk.full = disk.broken = False
    life.tell("everything works again")
    for name in sorted(life.copies, key=lambda name: rng.random()):
        copy = life.copies[name]
        if not copy.touched:
            continue
        if rng.random() < 0.5:
            life.tell(f"power is gone on {name}; {life.power(copy, rng)}")
        for process in list(copy.processes):
            life.end(process)
        process = life.start(copy)
        mail = life.mail_of(copy, 0, life.main)
        outcomes = life.ask(copy, process, copy.residents, mail, rng.choice(("device", "together")))
        life.judged(copy, process, copy.residents, mail, outcomes, "")
        audit(life, copy)
    finish(life)
