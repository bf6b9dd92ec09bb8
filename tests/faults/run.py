"""Schedules of faults: ``python -m tests.faults.run --seeds 1000``, or a search for every broken variant.

Seeds are steered in blocks of 1,000, so a range begins at a multiple of that to find what an earlier run found.
"""

from __future__ import annotations

import argparse
import gc
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from flwr.supercore.task_identity import TaskIdentity

from tests.faults.schedule import KINDS, Coverage, Result, again, blocks, compare_twin, make, shrink, told
from tests.faults.world import World


def search(world: World, first: int, last: int, kind: str = KINDS[0]) -> tuple[Result | None, Counter[str]]:
    """Run the schedules of a range of seeds; return the first that violates an invariant, and sums of all.

    Args:
        world: The world.
        first, last: The seeds, the last one not included.
        kind: Kind of the schedules.
    """
    sums: Counter[str] = Counter()
    for block in blocks(first, last):
        coverage = Coverage()
        for seed in block:
            result = make(world, seed, coverage, kind)
            sums.update(schedules=1, faults=result.faults, asks=result.asks, replies=result.replies)
            if result.violation:
                return result, sums
        gc.collect()
    return None, sums


@contextmanager
def _kept_world() -> Iterator[World]:
    """Give the simulated world of a process that does nothing else: garbage is collected once in a block."""
    world = begin()
    with world.simulated():
        gc.collect()
        gc.freeze()
        gc.disable()
        yield world


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
    given.add_argument("--kind", choices=KINDS, default=KINDS[0], help="of the schedules; each has seeds of its own")
    options = given.parse_args()
    last = options.first + options.seeds
    with _kept_world() as world:
        started = time.process_time()
        found, sums = search(world, options.first, last, options.kind)
        seconds = time.process_time() - started
        counts = ", ".join(f"{number:,} {name}" for name, number in sums.items())
        print(f"{counts}; {sums['schedules'] / seconds:.0f} schedules a second")
        if found is None:
            return 0
        short = again(world, shrink(world, found.schedule))
        short.violation = short.violation or compare_twin(world, short)
        print(told(short))
        print(f"again: {short.schedule}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
