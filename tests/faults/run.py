"""Schedules of faults: ``python -m tests.faults.run --seeds 1000``, or a search for every broken variant.

A range of seeds that was stopped continues with ``--first``. Seeds are steered in blocks of 1,000, so a range begins
at a multiple of that to find what an earlier run found.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import Counter
from pathlib import Path

from flwr.supercore.task_identity import TaskIdentity

from tests.faults.schedule import Coverage, Result, again, blocks, compare_twin, make, shrink, told
from tests.faults.world import World

LINE = 10_000


def search(
    world: World, first: int, last: int, *, log: Path | None = None, sums: Counter[str] | None = None
) -> tuple[Result | None, Counter[str]]:
    """Run the schedules of a range of seeds; return the first that violates an invariant, and sums of all."""
    sums = Counter() if sums is None else sums
    for block in blocks(first, last):
        coverage = Coverage()
        for seed in block:
            result = make(world, seed, coverage)
            sums.update(schedules=1, faults=result.faults, asks=result.asks, replies=result.replies)
            if result.violation:
                return result, sums
            if log is not None and (seed + 1) % LINE == 0:
                with log.open("a") as file:
                    file.write(f"{line_of(sums)}, up to seed {seed}\n")
        sums["kinds in states"] += len(coverage.seen)
    return None, sums


def long_run(world: World, first: int, last: int, log: Path) -> Counter[str]:
    """Run the schedules of a range of seeds to its end; the log gets a line every 10,000, and each violation."""
    sums: Counter[str] = Counter()
    done = first
    while done < last:
        found, _ = search(world, done, last, log=log, sums=sums)
        done = last if found is None else found.schedule.seed + 1
        if found is not None:
            sums["violations"] += 1
            with log.open("a") as file:
                file.write(f"{told(found)}\nagain: {found.schedule}\n")
    return sums


def line_of(sums: Counter[str]) -> str:
    """Return the sums of a run in a line."""
    counts = ", ".join(f"{sums[name]:,} {name}" for name in ("schedules", "faults", "asks", "replies"))
    return f"{counts}, {sums['violations']} violations"


def begin() -> World:
    """Return a world; Flower builds no message in a process without a task, and nothing is logged."""
    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    logging.disable(logging.CRITICAL)
    return World()


def main() -> int:
    """Run the command."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--seeds", type=int, default=1000)
    given.add_argument("--first", type=int, default=0)
    given.add_argument("--log", type=Path, help="go on after a violation, and write lines and stories to this file")
    options = given.parse_args()
    world, started = begin(), time.process_time()
    with world.simulated():
        last = options.first + options.seeds
        if options.log is not None:
            print(line_of(long_run(world, options.first, last, options.log)))
            return 0
        found, sums = search(world, options.first, last)
        seconds = time.process_time() - started
        print(f"{line_of(sums)}; {sums['schedules'] / seconds:.0f} schedules a second")
        if found is None:
            return 0
        short = again(world, shrink(world, found.schedule))
        short.violation = short.violation or compare_twin(world, short)
        print(told(short))
        print(f"again: {short.schedule}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
