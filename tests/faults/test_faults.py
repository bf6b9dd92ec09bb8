"""A thousand schedules of faults without a violation, and broken variants that are found."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.faults.run import begin, search
from tests.faults.schedule import KINDS, LINES, Coverage, Schedule, again, compare_twin, make, shrink, told
from tests.faults.variants import KIND, broken, every_variant
from tests.faults.world import World

pytest.importorskip("apsw")
SCHEDULES = 1000
# Variants that the first schedules find; docs/testing.md has the number of all. The search for the others takes longer.
SOON = 100
TRAININGS = 200
RACES = 200
REMOVALS = 200
QUICK = (
    "the reply leaves before the commit", "a commit does not wait for the disk",
    "a batch whose commit fails gives its replies", "attributes that were released with others are forgotten",
    "only the latest answer is looked at", "the bytes of an old answer go to a new question",
    "the counter is not compared", "the counter is never advanced",
    "the counter is advanced after the reply", "the counter is advanced before the commit",
    "a counter that is behind is a mismatch", "a signature is verified under any key",
    "a refusal depends on the data", "what holds counts one stage of a plan",
    "the losses of rounds are not added up", "a round is allowed by what was lost before it",
    "a round that was answered is answered again", "the same round in another training is another question",
    "weights that are no numbers are used", "a checkpoint is saved with the next one",
    "a checkpoint does not wait for the disk",
    "the files of a ledger are not compared",
)  # fmt: skip


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


def test_schedules_of_trainings_violate_nothing(world: World) -> None:
    found, sums = search(world, 0, TRAININGS, "trainings")
    assert found is None, told(again(world, shrink(world, found.schedule)))
    assert sums["schedules"] == TRAININGS and sums["faults"] > 2 * TRAININGS and sums["replies"] > 4 * TRAININGS


def test_schedules_of_races_violate_nothing(world: World) -> None:
    found, sums = search(world, 0, RACES, "races")
    assert found is None, told(again(world, shrink(world, found.schedule)))
    assert sums["schedules"] == RACES and sums["faults"] > 2 * RACES and sums["replies"] > 4 * RACES


def test_schedules_of_removals_violate_nothing(world: World) -> None:
    found, sums = search(world, 0, REMOVALS, "removals")
    assert found is None, told(again(world, shrink(world, found.schedule)))
    assert sums["schedules"] == REMOVALS and sums["faults"] > 2 * REMOVALS and sums["replies"] > 4 * REMOVALS


def test_the_quick_variants_are_some_of_all() -> None:
    assert set(QUICK) <= set(every_variant()) and len(every_variant()) > 40


@pytest.mark.parametrize("name", QUICK)
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
    twice = [[make(world, seed, coverage, kind) for seed in range(8)]
             for coverage in (Coverage(), Coverage())]  # fmt: skip
    for one, other in zip(*twice, strict=True):
        assert (one.schedule, one.codes, one.story) == (other.schedule, other.codes, other.story)
        replayed = again(world, one.schedule)
        assert (replayed.codes, replayed.story) == (one.codes, one.story)


def test_a_copy_may_hold_the_row_of_a_process_that_died(world: World) -> None:
    """The row is whole in the log; a living process does not see it and writes over it. Nobody got the answer."""
    steps = (("ask two at once", 2870490322), ("ask and harm", 902894967), ("copy", 2527635332), ("ask", 2088695867),
             ("deliver", 1183399384), ("full disk", 2440874642))  # fmt: skip
    found = again(world, Schedule(39415, 4, steps))
    assert found.violation == "" and any("COUNTER_MISMATCH" in line for line in found.story)


@pytest.mark.parametrize(
    ("variant", "schedule"),
    [
        # A process dies after it cut the counter's journal off. Another one reads it, and its machine loses power.
        ("a counter that a killed process left is not synced before it is read (mended)",
         Schedule(233637, 0, (("copy", 2197313657), ("ask", 64920113), ("ask and harm", 4205181135),
                              ("ask", 3251868391), ("counter away", 3406222383)))),
        # A collector dies after it named the grouping; the next one sends it, and their machine loses power.
        ("a grouping that a killed curator left is not synced before it is sent (mended)",
         Schedule(313414, 2, (("full disk", 3433448356), ("ask", 146387793), ("collect", 2074703853),
                              ("collect", 2069004212)))),
    ],
)  # fmt: skip
def test_what_a_dead_process_left_is_on_the_disk_before_it_is_used(
    world: World, variant: str, schedule: Schedule
) -> None:
    """Found by the long run."""
    assert again(world, schedule).violation == ""
    with broken(variant):
        assert again(world, schedule).violation


def test_a_race_shows_a_counter_that_was_advanced_part_of_the_way(world: World) -> None:
    """Two processes commit before either of them advances the counter: no pause of one answer has room for this."""
    schedule = Schedule(8019, 15, (("race", 968160475), ("bit rot", 858675249)))
    assert again(world, schedule).violation == ""
    with broken("a counter that another process advanced part of the way is left there"):
        assert again(world, schedule).violation


@pytest.mark.parametrize(
    "schedule",
    [
        # The same, where the first process after all others finds the row.
        Schedule(877607, 0, (
            ("ask two at once", 2147488586), ("ask two at once", 4184093648), ("ask and harm", 2866105295),
            ("copy", 3499594053), ("ask", 947649412), ("records", 2474349472), ("ask", 795064733),
            ("collect", 2269915820), ("counter away", 1532079835), ("ask", 3693380600),
        )),
        # A nonce rots, so other noise is drawn: a list without ones takes a byte less.
        Schedule(821280, 0, (("ask two at once", 4014426024), ("ask two at once", 2379776686),
                             ("bit rot", 889206553), ("clock", 4083407836))),
        # A process goes on after another one's commit and before its counter: the chain is read anew, from no cache.
        Schedule(4320, 15, (("full disk", 1655564596), ("race", 1529916323))),
    ],
)  # fmt: skip
def test_the_judge_knows_what_the_long_run_showed(world: World, schedule: Schedule) -> None:
    found = again(world, schedule)
    assert not (found.violation or compare_twin(world, found))
