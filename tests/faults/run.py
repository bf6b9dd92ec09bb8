"""Schedules of faults: ``python -m tests.faults.run --seeds 1000``, or a search for every broken variant.

A range of seeds that was stopped continues with ``--first``. Seeds are steered in blocks of 1,000, so a range begins
at a multiple of that to find what an earlier run found. ``--log`` writes a JSON line for each block, and
``python -m tests.faults.power --page --logs FILES`` adds them up.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from flwr.supercore.task_identity import TaskIdentity

from tests.faults.schedule import Coverage, Result, again, blocks, compare_twin, make, shrink, told
from tests.faults.world import World

COUNTED = ("schedules", "faults", "asks", "replies")


def search(world: World, first: int, last: int) -> tuple[Result | None, Counter[str]]:
    """Run the schedules of a range of seeds; return the first that violates an invariant, and sums of all."""
    sums: Counter[str] = Counter()
    for block in blocks(first, last):
        coverage = Coverage()
        for seed in block:
            result = make(world, seed, coverage)
            sums.update(schedules=1, faults=result.faults, asks=result.asks, replies=result.replies)
            if result.violation:
                return result, sums
        sums["kinds in states"] += len(coverage.seen)
    return None, sums


def long_run(world: World, first: int, last: int, log: Path) -> Counter[str]:
    """Run the schedules of a range of seeds to its end; the log gets a line for each block, and for each violation."""
    sums: Counter[str] = Counter()
    for block in blocks(first, last):
        done = block.start
        while done < block.stop:
            found, part = search(world, done, block.stop)
            entry: dict[str, Any] = {"first": done, **{name: part[name] for name in COUNTED}, "violations": 0}
            done = block.stop if found is None else found.schedule.seed + 1
            if found is not None:
                entry |= {"violations": 1, "story": told(found), "again": str(found.schedule)}
            with log.open("a") as file:
                file.write(f"{json.dumps(entry)}\n")
            sums.update({name: entry[name] for name in (*COUNTED, "violations")})
    return sums


def line_of(sums: Counter[str]) -> str:
    """Return the sums of a run in a line."""
    counts = ", ".join(f"{sums[name]:,} {name}" for name in COUNTED)
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
    given.add_argument("--log", type=Path, help="go on after a violation, and write sums and stories here")
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
