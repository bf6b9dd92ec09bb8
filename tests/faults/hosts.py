"""Copies of an enrolled folder on their machines, and questions on their way to a device."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tests.faults.computers import Process
from tests.faults.disk import Disk
from tests.faults.questions import N, Question
from tests.faults.world import HOSTS


@dataclass(eq=False)
class Copy:
    """A copy of an enrolled folder on a machine of its own; the first one is the host that was enrolled.

    Args:
        name: Name of the machine and its disk; the first letter is the lineage.
        disk: The disk.
        processes: Processes that work with the folder.
        touched: Whether anything happened to it.
    """

    name: str
    disk: Disk
    processes: list[Process] = field(default_factory=list)
    touched: bool = False

    @cached_property
    def folder(self) -> Path:
        return self.disk.root / "state"

    @property
    def residents(self) -> tuple[int, ...]:
        return HOSTS.get(self.name[0], tuple(range(N)))


@dataclass
class Mail:
    """A question on its way to a device."""

    copy: str
    person: int
    question: Question
    data: bytes
    refusal: str
