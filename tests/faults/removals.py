"""Files of a ledger that are removed or replaced while a process serves it.

Nothing that was answered before is lost: a log is removed after all of it is in the main file, and what replaces a file
has its bytes. So no device may give a second answer, and a process that has the old file open may answer nothing.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from random import Random

from tests.faults.computers import Plan, Process
from tests.faults.disk import read
from tests.faults.hosts import Copy
from tests.faults.life import OUTDATED, Life
from tests.faults.world import SETTINGS

REMOVALS = tuple(replace(setting, removals=True) for setting in SETTINGS)
_ENDINGS = ("", "-wal", "-shm")


def remove_or_replace(life: Life, rng: Random) -> None:
    """Ask after a file was removed or replaced, or replace it at a step of the answer; then the processes end."""
    copy = life.copy(rng)
    process = life.process(copy, rng)
    if life.troubled(copy, process) or process.opened.get(OUTDATED) or life.judge.lineages[copy.name[0]].loose:
        return
    path, ending = _ledger(copy), rng.choice(_ENDINGS)
    door, before = rng.choice(life.doors), rng.random() < 0.5
    people = list(copy.residents) if door == "together" else [rng.choice(copy.residents)]
    mail = life.letter(rng, copy, people[0])
    plan: Plan | None = None
    removed = before and ending != "" and rng.random() < 0.5
    at = rng.randrange(1, 2 + life.last_steps)
    if before:
        if removed and ending == "-wal":
            _empty_log(life, copy, process)
        _gone(copy, path, ending, removed=removed)
        for other in copy.processes:  # they may answer nothing
            other.opened[OUTDATED] = True
    else:
        plan = Plan(at, lambda: _gone(copy, path, ending, removed=False))
    life.faults += 1
    what = f"ledger{ending} of {copy.name} is {'removed' if removed else 'replaced by a copy'}"
    outcomes = life.ask(copy, process, people, mail, door, plan)
    life.tell(what if before else f"{what} at step {at} of this answer:")
    life.judged(copy, process, people, mail, outcomes, "failed" if plan is not None and plan.done else "")
    _end(life, copy, rng)


def _ledger(copy: Copy) -> Path:
    (found,) = copy.folder.glob("ledger*.sqlite")
    return found


def _empty_log(life: Life, copy: Copy, process: Process) -> None:
    """Put all of the log into the main file."""
    ledger = life.ledger(copy, process)
    life.computers.run(process, lambda: ledger._db.execute("PRAGMA wal_checkpoint(TRUNCATE)"))


def _gone(copy: Copy, path: Path, ending: str, *, removed: bool) -> None:
    """Remove a file, or put a copy of it, another file, in its place."""
    name = f"{path}{ending}"
    data = read(name)
    os.unlink(name)
    if ending == "-shm":  # it is on no disk
        if not removed:
            Path(name).write_bytes(data)
        return
    below = str(Path(name).relative_to(copy.disk.root))
    copy.disk.forget_what_is_gone()
    if removed:
        copy.disk.sync_folder(str(path.parent))
    else:
        copy.disk.put(below, data)


def _end(life: Life, copy: Copy, rng: Random) -> None:
    way = rng.random()
    if way < 0.2:
        life.tell(f"power is gone on {copy.name}; {life.power(copy, rng)}")
        return
    life.tell(f"the processes of {copy.name} {'are killed' if way < 0.7 else 'stop'}")
    for process in list(copy.processes):
        if way < 0.7:
            life.end(process)
        else:
            life.stop(process)
