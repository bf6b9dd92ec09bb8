"""Results of table cells as simulated runs, in the folders of sweeps (:mod:`ldpsim.strategies.experiments.sweep`)."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.papers.table_cell import TableCell
from ldpsim.strategies.experiments.failures import Failed
from ldpsim.strategies.experiments.sweep import check_cells, results_in, run_sweep
from ldpsim.strategies.experiments.sweep_file import Cell


class TimeIsUp(Exception):
    """End of the time that a call may run cells."""


@dataclass(frozen=True)
class Swept:
    """Results of runs.

    Args:
        folder: Folder of the sweep. Results in the folders beside it count too: one run can be a cell of two pages.
    """

    folder: Path

    def run(self, cells: Sequence[TableCell], *, workers: int, until: float = math.inf) -> None:
        """Run the cells that have no result and keep the results alone.

        A cell that runs at ``until`` is ended, and goes on at the next call.
        """
        missing: dict[str, TableCell] = {}
        for cell, digest, record in self._looked_up(cells):
            if record is None and not cell.absent:
                missing.setdefault(digest if isinstance(digest, str) else cell.label, cell)
        if not missing:
            return
        runs = [Cell(cell.options, cell.label) for cell in missing.values()]
        name, done = self.folder.name, -1

        def tell(phase: str, share: float | None) -> None:
            nonlocal done
            count = round((share or 0) * len(runs))
            if phase == "cells" and count != done:
                done = count
                print(f"{name}: {count} of {len(runs)} cells", flush=True)
                self._remove_devices()
                if time.monotonic() >= until and count < len(runs):
                    raise TimeIsUp

        try:
            swept = run_sweep(runs, self.folder, workers=workers, progress=tell)
        except (TimeIsUp, ValueError) as error:
            print(f"{name}: {error or 'the time is up'}", flush=True)
            return
        self._remove_devices()
        for label, failed in swept.failures:
            print(f"{name}: {label}: {failed.line}", flush=True)

    def found(self, cells: Sequence[TableCell]) -> list[Mapping[str, Any] | None]:
        """Return each cell's ``result.json``, None without one. Without any result no data set is read."""
        return [record for _, _, record in self._looked_up(cells)] if self._records() else [None] * len(cells)

    def _looked_up(self, cells: Sequence[TableCell]) -> list[tuple[TableCell, str | Failed, Mapping[str, Any] | None]]:
        """Return each cell, its config hash or the reason why it cannot run, and its result."""
        records = self._records()
        return [(cell, digest, records.get(digest) if isinstance(digest, str) else None)
                for cell, digest in zip(cells, _digests(cells), strict=True)]  # fmt: skip

    def _records(self) -> dict[str, Mapping[str, Any]]:
        """Return the results by config hash."""
        records: dict[str, Mapping[str, Any]] = {}
        for other in sorted(self.folder.parent.glob("*/")) if self.folder.parent.is_dir() else []:
            for digest, ended in results_in(other).items():
                records.setdefault(digest, ended[0][1])
        return records

    def _remove_devices(self) -> None:
        """Remove the devices of finished cells; a table needs their results alone."""
        for result in self.folder.glob("*/result.json"):
            for state in result.parent.glob("state*"):
                shutil.rmtree(state, ignore_errors=True)


def _digests(cells: Sequence[TableCell]) -> list[str | Failed]:
    """Return every cell's config hash, with each data set read once; that of an absent data set is its reason."""
    by_people: dict[str, list[int]] = {}
    for place, cell in enumerate(cells):
        by_people.setdefault(cell.options.dataset, []).append(place)
    found: dict[int, str | Failed] = {}
    for places in by_people.values():
        found.update(zip(places, check_cells([cells[place].options for place in places]), strict=True))
    return [found[place] for place in range(len(cells))]
