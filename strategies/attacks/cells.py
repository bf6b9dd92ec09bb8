"""Cells of a set of attacks, measured in this process or in several; one that fails does not end the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from ldpsim.strategies.engines.pool import one_torch_thread, processes
from ldpsim.strategies.experiments.failures import outcomes_of

CellT = TypeVar("CellT")
Tell = Callable[[float], None]  # called with the share of a cell that is done


def run_cells(
    cells: Sequence[CellT],
    measure: Callable[..., Any],
    *,
    workers: int | None,
    trains: bool = True,
    tell: Tell | None = None,
) -> Iterator[tuple[CellT, Any]]:
    """Yield (cell, result) as cells end, with :class:`~ldpsim.strategies.experiments.failures.Failed` in place of a
    result.

    Args:
        cells: What is measured.
        measure: Cell -> result; a function of a module.
        workers: Number of cells at a time; None for one per core. One at a time is measured in this process.
        trains: Whether the cells use torch.
        tell: Second argument of ``measure`` in this process: told the share of the present cell that is done.
    """
    prepare = one_torch_thread if trains else None
    with processes(workers, tasks=len(cells), here=True, prepare=prepare) as pool:
        told = measure if tell is None or pool.workers > 1 else lambda cell: measure(cell, tell)
        for number, outcome in outcomes_of(pool, told, enumerate(cells)):
            yield cells[number], outcome
