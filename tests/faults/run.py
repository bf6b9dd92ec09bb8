"""Schedules of faults: ``python -m tests.faults.run --seeds 1000``, or a search for every broken variant.

Seeds are steered in blocks of 1,000, so a range begins at a multiple of that to find what an earlier run found.
``--log`` writes a JSON line for each block, ``--workers`` runs several at a time, and a run that was stopped continues
with the blocks that its log lacks.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from flwr.supercore.task_identity import TaskIdentity

from tests.faults.schedule import KINDS, Coverage, Result, again, blocks, compare_twin, make, shrink, told
from tests.faults.world import World

COUNTED = ("schedules", "faults", "asks", "replies")


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
        sums["kinds in states"] += len(coverage.seen)
    return None, sums


def entries(world: World, block: Sequence[int], kind: str = KINDS[0]) -> list[dict[str, Any]]:
    """Return the log's lines about a block: sums up to each violation with its story, and those of the rest."""
    found: list[dict[str, Any]] = []
    done, last = block[0], block[-1] + 1
    while done < last:
        result, part = search(world, done, last, kind)
        sums = {name: part[name] for name in COUNTED}
        found.append({"kind": kind, "first": done, **sums, "violations": 0})
        done = last if result is None else result.schedule.seed + 1
        if result is not None:
            found[-1] |= {"violations": 1, "story": told(result), "again": str(result.schedule)}
    return found


def long_run(first: int, last: int, log: Path, workers: int, kind: str = KINDS[0]) -> Counter[str]:
    """Run the blocks of a range of seeds that the log lacks; it gets a line for each, and for each violation."""
    log.touch()
    kept = [json.loads(line) for line in log.read_text().splitlines()]
    there = {entry["first"] for entry in kept if entry["kind"] == kind}
    missing = [block for block in blocks(first, last) if block.start not in there]
    with multiprocessing.get_context("spawn").Pool(workers, _start_worker) as pool, log.open("a") as file:
        for lines in pool.imap_unordered(partial(_work, kind=kind), missing):
            file.writelines(f"{json.dumps(entry)}\n" for entry in lines)
            file.flush()
            kept += lines
    sums: Counter[str] = Counter()
    for entry in kept:
        sums.update({name: entry[name] for name in (*COUNTED, "violations")})
    return sums


_stack = ExitStack()  # of a worker
_worker: list[World] = []


def _start_worker() -> None:
    _worker.append(_stack.enter_context(_kept_world()))


def _work(block: Sequence[int], kind: str) -> list[dict[str, Any]]:
    found = entries(_worker[0], block, kind)
    gc.collect()
    return found


@contextmanager
def _kept_world() -> Iterator[World]:
    """Give the simulated world of a process that does nothing else: garbage is collected once in a block."""
    world = begin()
    with world.simulated():
        gc.collect()
        gc.freeze()
        gc.disable()
        yield world


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
    given.add_argument("--workers", type=int, default=1, help="processes of a run with a log")
    given.add_argument("--kind", choices=KINDS, default=KINDS[0], help="of the schedules; each has seeds of its own")
    options = given.parse_args()
    last = options.first + options.seeds
    if options.log is not None:
        print(line_of(long_run(options.first, last, options.log, options.workers, options.kind)))
        return 0
    with _kept_world() as world:
        started = time.process_time()
        found, sums = search(world, options.first, last, options.kind)
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
