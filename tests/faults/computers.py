"""Processes of the simulation, the step counter that every disk and statement passes, and virtual time."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import apsw

from tests.faults.disk import Died, Disk, Disks
from tests.faults.turns import Turns


@dataclass(eq=False)
class Process:
    """A process on a machine.

    Args:
        machine: Name of its disk.
        name: For the story.
    """

    machine: str
    name: str = "process"
    dead: bool = False
    connections: list[Any] = field(default_factory=list)
    opened: dict[str, Any] = field(default_factory=dict)  # state folders, vaults


@dataclass
class Plan:
    """What happens at a step of the process that works now.

    Args:
        at: Number of the step, from 1.
        act: Is called before the step is done.
        writes_alone: Whether statements are no steps of the plan.
    """

    at: int
    act: Callable[[], None]
    writes_alone: bool = False
    seen: int = 0
    done: bool = False


class Computers:
    """The machines.

    Args:
        disks: Their disks.
    """

    def __init__(self, disks: Disks) -> None:
        self.disks = disks
        self.nobody = Process("", "nobody")
        self.current = self.nobody
        self.plan: Plan | None = None
        self.planned: Process | None = None
        self.steps = 0
        self.seconds = 1.7e9
        self.kept: list[Any] = []
        self.turns: Turns | None = None  # of processes that work at once

    def step(self, disk: Disk, what: str, path: str) -> None:
        """Pass a step of a disk; apsw's error where the disk is full or broken, or the process died here."""
        self._pass(self.current, writes=True)
        if self.current.dead:
            raise apsw.IOError("the process is dead")
        if disk.broken:
            raise apsw.IOError("the disk fails")
        if disk.full and what not in ("delete", "sync"):
            raise apsw.FullError("the disk is full")

    def name_step(self, disk: Disk, what: str, path: str) -> None:
        """Pass a step on a file that SQLite does not write."""
        self._pass(self.current, writes=True)
        if self.current.dead:
            raise Died
        if disk.full or disk.broken:
            raise OSError(errno.ENOSPC if disk.full else errno.EIO, "the disk is full or fails", path)

    def statement(self, process: Process, sql: str) -> None:
        """Pass a statement: a place where another process may work, or this one may die."""
        if process.dead:
            raise Died
        self._pass(process, writes=False)
        if process.dead:
            raise Died

    def waits(self, tries: int = 0) -> bool:
        """Let others go on because of a lock, and return whether it is worth another try; SQLite counts the tries."""
        return self.turns is not None and not self.current.dead and self.turns.wait() and not self.current.dead

    def _pass(self, process: Process, *, writes: bool) -> None:
        if self.turns is not None:
            self.turns.pass_step()
        self.steps += 1
        plan = self.plan
        if plan is None or plan.done or process is not self.planned or (plan.writes_alone and not writes):
            return
        plan.seen += 1
        if plan.seen == plan.at:
            plan.done = True
            plan.act()

    def run(self, process: Process, work: Callable[[], Any], plan: Plan | None = None) -> Any:
        """Do something as a process; None where it dies."""
        before = self.current, self.plan, self.planned
        self.current, self.plan, self.planned = process, plan, process
        try:
            return work()
        except Died:
            return None
        finally:
            self.current, self.plan, self.planned = before

    def kill(self, process: Process) -> None:
        """Mark a process dead; its files are given up by :meth:`bury`, outside of its own calls."""
        process.dead = True

    def free(self, process: Process) -> None:
        """Give up the files and locks of a process that is dead."""
        while process.connections:
            process.connections.pop().abandon()

    def bury(self, process: Process) -> None:
        process.dead = True
        self.free(process)
        process.opened.clear()
