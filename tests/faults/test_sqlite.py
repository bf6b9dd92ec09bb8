"""SQLite on the simulator's disks: what a dead process had open is given up, as an operating system does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ldpsim.devices.ledger.counter import Entry
from ldpsim.devices.ledger.counter_folder import FolderCounter
from ldpsim.devices.ledger.rows import Head

pytest.importorskip("apsw")
from tests.faults.computers import Plan, Process
from tests.faults.disk import Died
from tests.faults.world import World


@pytest.fixture
def world() -> Iterator[World]:
    with World().simulated() as made:
        yield made


def test_a_dead_process_gives_up_its_files_though_its_error_is_kept(world: World) -> None:
    """A process dies at each step of a counter's change. Its exception holds the frames that hold its connection."""
    computers = world.computers
    counter = FolderCounter(world.disks.disk("c").root / "one.count")
    counter.create({1: Entry(Head(), b"")})
    errors: list[Died] = []

    def advance() -> None:
        try:
            head = counter.entries([1])[1].head
            counter.advance({1: (head, Head(head.answers + 1, b"seal"))})
        except Died as error:
            errors.append(error)
            raise

    at, died = 0, True
    while died:
        at += 1
        first = Process("c", "the first")
        plan = Plan(at, lambda process=first: computers.kill(process))  # type: ignore[misc]
        computers.run(first, advance, plan)
        computers.bury(first)
        computers.run(Process("c", "another"), advance)  # OSError where the first one's lock is left
        died = plan.done
    assert len(errors) > 10
