"""Schedules of faults without a violation, and broken variants that are found."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.faults.run import begin, search
from tests.faults.schedule import KINDS, LINES, Coverage, Schedule, again, make, shrink, told
from tests.faults.variants import KIND, VARIANTS, broken
from tests.faults.world import World

pytest.importorskip("apsw")
SCHEDULES = {"reports": 300, "trainings": 60, "races": 60, "removals": 60}  # `python -m tests.faults.run` runs more
SOON = 100  # schedules that find a variant, but for those that were mended; docs/testing.md has the number of each
LATE = {  # what a long run found
    # A process dies after it cut the counter's journal off. Another one reads it, and its machine loses power.
    "a counter that a killed process left is not synced before it is read (mended)": Schedule(
        233637, 0, (("copy", 1982966162), ("ask", 64920113), ("ask and harm", 4040054837),
                    ("ask", 3251868391), ("counter away", 3406222383))),
    # A collector dies after it named the grouping; the next one sends it, and their machine loses power.
    "a grouping that a killed curator left is not synced before it is sent (mended)": Schedule(
        313414, 2, (("full disk", 3433448356), ("ask", 146387793), ("collect", 2074703853), ("collect", 2069004212))),
    # A log is put in the place of the real one, and the process that ends deletes it. Its machine loses power.
    "the names of a ledger's files are not synced at the next start (mended)": Schedule(
        7357, 20, (("ask", 488522040), ("a file goes", 4117116911), ("ask two at once", 2142304542))),
    # Two processes commit before either of them advances the counter.
    "a counter that another process advanced part of the way is left there": Schedule(
        8019, 15, (("race", 968160475), ("bit rot", 858675249))),
}  # fmt: skip


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    disabled = logging.root.manager.disable
    made = begin()
    with made.simulated():
        yield made
    logging.disable(disabled)


@pytest.mark.parametrize("kind", KINDS)
def test_schedules_of_faults_violate_nothing(world: World, kind: str) -> None:
    found, sums = search(world, 0, SCHEDULES[kind], kind)
    assert found is None, told(again(world, shrink(world, found.schedule)))
    assert sums["schedules"] == SCHEDULES[kind]
    assert sums["faults"] > 2 * SCHEDULES[kind] and sums["replies"] > 4 * SCHEDULES[kind]


@pytest.mark.parametrize("name", sorted(VARIANTS.keys() - LATE.keys()))
def test_a_broken_variant_is_found_and_told_in_twenty_lines(world: World, name: str) -> None:
    """Power: a simulator that finds nothing proves nothing."""
    with broken(name):
        found, _ = search(world, 0, SOON, KIND[name])
        assert found is not None
        short = shrink(world, found.schedule)
        assert len(short.steps) <= len(found.schedule.steps)
        story = told(again(world, short))
        assert len(story.splitlines()) <= LINES
    assert again(world, short).violation == ""


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_is_one_schedule(world: World, kind: str) -> None:
    """The same seeds give the same steps, replies and steps of the disks, and the steps alone give them again."""
    twice = [[make(world, seed, coverage, kind) for seed in range(4)]
             for coverage in (Coverage(), Coverage())]  # fmt: skip
    for one, other in zip(*twice, strict=True):
        assert (one.schedule, one.codes, one.story) == (other.schedule, other.codes, other.story)
        replayed = again(world, one.schedule)
        assert (replayed.codes, replayed.story) == (one.codes, one.story)


@pytest.mark.parametrize("variant", LATE)
def test_what_the_long_run_found_is_mended(world: World, variant: str) -> None:
    schedule = LATE[variant]
    assert again(world, schedule).violation == ""
    with broken(variant):
        assert again(world, schedule).violation
