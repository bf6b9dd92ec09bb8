"""A thousand schedules of faults without a violation, and broken variants that are found."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.faults.run import begin, search
from tests.faults.schedule import LINES, Coverage, again, make, shrink, told
from tests.faults.variants import broken, every_variant
from tests.faults.world import World

pytest.importorskip("apsw")
SCHEDULES = 1000
SOON = 120
# Found later than in the first 120 schedules; docs/testing.md has the number of each.
LATER = {
    "a log that a killed process left is not synced at the next start (mended)", "a failed batch is not undone",
    "the grouping of a stage is not compared", "an answer is forgotten after a day",
    "a counter's row on the server is not locked",
    "the server's commit does not wait for its disk",
    "a step of the counter that is repeated after a lost connection is a mismatch",
    "the chain of seals is not checked", "seals are compared in their first byte",
}  # fmt: skip


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    disabled = logging.root.manager.disable
    made = begin()
    with made.simulated():
        yield made
    logging.disable(disabled)


def test_a_thousand_schedules_violate_nothing(world: World) -> None:
    found, sums = search(world, 0, SCHEDULES)
    assert found is None, told(again(world, shrink(world, found.schedule)))
    assert sums["schedules"] == SCHEDULES and sums["faults"] > 2 * SCHEDULES and sums["replies"] > 4 * SCHEDULES


@pytest.mark.parametrize("name", [name for name in every_variant() if name not in LATER])
def test_a_broken_variant_is_found_and_told_in_twenty_lines(world: World, name: str) -> None:
    """Power: a simulator that finds nothing proves nothing."""
    with broken(name):
        found, _ = search(world, 0, SOON)
        assert found is not None
        short = shrink(world, found.schedule)
        assert len(short.steps) <= len(found.schedule.steps)
        story = told(again(world, short))
        assert len(story.splitlines()) <= LINES
    assert again(world, short).violation == ""


def test_a_seed_is_one_schedule(world: World) -> None:
    """The same seeds give the same steps, replies and steps of the disks, and the steps alone give them again."""
    twice = [[make(world, seed, coverage) for seed in range(8)] for coverage in (Coverage(), Coverage())]
    for one, other in zip(*twice, strict=True):
        assert (one.schedule, one.codes, one.story) == (other.schedule, other.codes, other.story)
        replayed = again(world, one.schedule)
        assert (replayed.codes, replayed.story) == (one.codes, one.story)
