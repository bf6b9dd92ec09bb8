"""The one runner of cells: several at a time, in a pool, and one that fails does not end the others.

    outcomes = measure_all(cells, measure, pool, done=..., keep=..., progress=progress, folder=folder)

A cell is anything that a pickle can carry, under a name of its own. ``measure`` is a function of a module. A cell that
is ``done`` does not run again, so the same command goes on after it was stopped. Sweeps, comparisons, the tables of
papers, campaigns of attacks and audits run their cells here.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ldpsim.strategies.engines.pool import Pool, WorkerDied
from ldpsim.strategies.progress import Progress, noted_if_interrupted, quiet

Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Failed:
    """Reason why a cell has no result.

    Args:
        line: The reason in one line.
        trace: The traceback; None if the user can correct the cause.
    """

    line: str
    trace: str | None = None


Failures = Sequence[tuple[str, Failed]]  # name of a cell, and its reason


def failure(error: BaseException) -> Failed:
    """Return the line for an exception, and its traceback unless the user can correct the cause."""
    from ldpsim.strategies.runs.errors import Refused, RunFailed

    line = " ".join(str(error).split())
    if isinstance(error, (ValueError, Refused, RunFailed, WorkerDied)):
        return Failed(line or type(error).__name__)
    trace = "".join(traceback.format_exception(error))
    return Failed(f"{type(error).__name__}: {line}" if line else type(error).__name__, trace)


def measure_all(
    cells: Mapping[Name, Any],
    measure: Callable[[Any], Any],
    pool: Pool,
    *,
    done: Mapping[Name, Any] | None = None,
    keep: Callable[[Name, Any], None] | None = None,
    phase: str = "cells",
    progress: Progress = quiet,
    folder: Path | None = None,
) -> dict[Name, Any]:
    """Measure the cells that are not done, and return the outcome of each in their order: a result, or ``Failed``.

    Args:
        cells: Name -> what is measured.
        measure: Cell -> result.
        pool: Workers (:func:`ldpsim.strategies.engines.pool.processes` or ``on_ray``).
        done: Outcomes of cells that do not run.
        keep: Called with name and result of each cell as it ends, in this process.
        phase: Name of the phase for ``progress``.
        progress: Called with the phase and the share of it that is done.
        folder: Folder with the finished cells, which an interrupt names; None to name none.
    """
    outcomes = dict(done or {})
    names = list(cells)

    def line() -> str:
        finished = sum(not isinstance(outcome, Failed) for outcome in outcomes.values())
        return f"{finished} of {len(cells)} cells are finished and kept in {folder}; the same command goes on"

    with nullcontext() if folder is None else noted_if_interrupted(line):
        progress(phase, len(outcomes) / len(cells))
        waiting = [(place, cells[name]) for place, name in enumerate(names) if name not in outcomes]
        for place, future in pool.each(measure, waiting):
            error = future.exception()
            outcome = outcomes[names[place]] = future.result() if error is None else failure(error)
            if keep is not None and not isinstance(outcome, Failed):
                keep(names[place], outcome)
            progress(phase, len(outcomes) / len(cells))
    return {name: outcomes[name] for name in names}
