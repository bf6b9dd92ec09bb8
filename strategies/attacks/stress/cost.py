"""Expected memory and time of a stress test, told before it starts.

Each comparison keeps sums of all pairs of people and of all features in memory, enrols devices for each number of asks,
and asks all of them. The constants were measured on 17 kinds of comparison of 40 to 640 people with 1 and 25 asks, and
on one of 2,500 people; they are good for a factor of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ldpsim.devices.facts import PublicFacts
from ldpsim.strategies.estimate.expected import LARGE, LONG, log
from ldpsim.strategies.estimate.fits import in_gib
from ldpsim.strategies.estimate.load import constants
from ldpsim.strategies.estimate.machine import calibration
from ldpsim.strategies.results.numbers import duration

ERROR = 2.0  # factor
_PROCESS = 142 << 20  # bytes of a process with its libraries
_A_PAIR, _AN_ENTRY = 40.0, 87.0  # bytes of a pair of people in both orders, and of a feature of a person
_ENROLLED, _ASKED, _COMPARED = 8e-4, 6e-4, 1e-7  # CPU seconds of a device, of a device asked once, and of a pair


@dataclass(frozen=True)
class StressCost:
    """Cost of a stress test.

    Args:
        seconds: CPU seconds of all comparisons.
        memory_bytes: Largest memory of all processes together.
    """

    seconds: float
    memory_bytes: float


def expected_cost(facts: PublicFacts, comparisons: int, marks: Sequence[int], workers: int) -> StressCost:
    """Return the cost of comparisons.

    Args:
        facts: Sizes of the population.
        comparisons: Number of comparisons.
        marks: Numbers of asks after which recovery is measured.
        workers: Number of comparisons at a time.

    >>> cost = expected_cost(PublicFacts(n=2500, d=600, classes=6), 1, (1,), 1)
    >>> round(cost.seconds, 1), round(cost.memory_bytes / 2**20)  # measured: 4.2 s, 459 MiB
    (4.1, 505)
    """
    n = facts.n
    each = n * (_ENROLLED * len(marks) + _ASKED * sum(marks)) + _COMPARED * n * n * len(marks)
    memory = _PROCESS + _A_PAIR * n * n + _AN_ENTRY * n * facts.d
    processes = min(workers, comparisons)
    return StressCost(comparisons * each, memory * processes + (_PROCESS if processes > 1 else 0))


def tell_cost(facts: PublicFacts, comparisons: int, marks: Sequence[int], workers: int) -> None:
    """Log the expected cost if it is long or large, as a run does; arguments as of :func:`expected_cost`."""
    cost = expected_cost(facts, comparisons, marks, workers)
    if cost.seconds <= LONG and cost.memory_bytes <= LARGE:
        return
    seconds = cost.seconds * calibration() / constants()["machine"]["calibration"]
    several = f"{comparisons} comparisons, {min(workers, comparisons)} at a time" if comparisons > 1 else "1 comparison"
    log.info("expected: %s: about %s of memory, %s of CPU time (within a factor of %g)",
             several, in_gib(cost.memory_bytes), duration(seconds), ERROR)  # fmt: skip
