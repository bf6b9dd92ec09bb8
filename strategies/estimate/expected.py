"""Expected time and memory of long runs, in one line before their people are made and before anybody is asked.

The line goes to the logger ``ldpsim.expected``, at the level INFO: the command line shows it on standard error.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ldpsim.strategies.estimate.fits import in_gib, load_of
from ldpsim.strategies.estimate.graph_facts import GraphFacts, known_before
from ldpsim.strategies.estimate.load import MEMORY_ERROR, TIME_ERROR, Load, constants
from ldpsim.strategies.estimate.machine import calibration
from ldpsim.strategies.results.numbers import duration
from ldpsim.strategies.setup.options import RunOptions

log = logging.getLogger("ldpsim.expected")

LONG = 60.0  # CPU seconds, above which runs are stated
LARGE = 2 << 30  # bytes, likewise


def tell_expected(several: Sequence[RunOptions], facts: GraphFacts | None = None) -> None:
    """Log what runs are expected to take, if that is long or large; short ones stay quiet.

    Args:
        several: The runs. Those of which nothing is known are left out, and so are wrong options: the runs say why.
            Of a run with more noise than was ever measured the memory alone is known, and of some methods nothing.
        facts: The people of all runs; None for what is known of each one's data set before it is made or read.
    """
    loads = [load for options in several if (load := _load(options, facts)) is not None and load.memory_known]
    if not loads:
        return
    noisy = any(load.noisy for load in loads)
    seconds, memory = sum(load.total for load in loads), max(load.memory_bytes for load in loads)
    if noisy and memory <= LARGE:
        return
    if seconds <= LONG and memory <= LARGE:
        return
    seconds *= calibration() / constants()["machine"]["calibration"]
    far = [load.measured for load in loads if load.extrapolated]
    error = f"within factors of {MEMORY_ERROR:g} and {TIME_ERROR:g}"
    if far:
        most = max(load.memory_error for load in loads)
        error = f"memory within a factor of {most:g}, time extrapolated from runs of {min(far):,} people"
    runs = f"{len(several)} runs, the largest with " if len(several) > 1 else ""
    took = f"{duration(seconds)} of CPU time ({error})"
    if noisy:
        took = f"within a factor of {MEMORY_ERROR:g}; at so small a budget the CPU time is not known"
    log.info("expected: %sabout %s of memory, %s", runs, in_gib(memory), took)


def _load(options: RunOptions, facts: GraphFacts | None) -> Load | None:
    try:
        facts = known_before(options) if facts is None else facts
        return None if facts is None else load_of(options, facts)
    except ValueError:
        return None
