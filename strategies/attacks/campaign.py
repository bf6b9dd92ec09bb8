"""Cells of ``stress`` and ``poison``: each is measured by itself, and one table has the rows of all.

    options -> cells -> results -> rows -> table.csv, result.json

The folder is ``<out>/<command>-<dataset>-<hash>-<seed>/``. Each finished cell is kept in it, so that the same command
goes on with a campaign that was stopped. A campaign in which a cell failed has no result.json, and is continued in the
same way. ``audit`` measures what it audits as cells, too, and keeps nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ldpsim.devices.atomic_files import write_atomically
from ldpsim.strategies.engines.pool import one_torch_thread, processes
from ldpsim.strategies.experiments.cells import Failed, Failures, outcomes_of
from ldpsim.strategies.progress import NOTHING_KEPT, Progress, noted_if_interrupted, quiet
from ldpsim.strategies.results.folder import hold_folder, write_result
from ldpsim.strategies.results.rows import Row, data_frame, write_table
from ldpsim.strategies.setup.fingerprint import config_hash, ldpsim_version


@dataclass(frozen=True)
class CampaignResult:
    """Result of a campaign.

    Args:
        rows: Lines of the table; "passed" is whether one agrees with theory, if it has one.
        settings: Settings in force.
        failures: (cell, reason) of the cells that failed.
        seconds: Duration.
        results: Result of each cell, by its name.
        folder: Folder with table.csv and result.json; None where nothing is kept.
    """

    rows: Sequence[Row]
    settings: Mapping[str, Any]
    failures: Failures = ()
    seconds: float = 0.0
    results: Mapping[str, Any] = field(default_factory=dict, repr=False)
    folder: Path | None = None

    @property
    def passed(self) -> bool:
        """Whether every row that has a theory agrees with it."""
        return all(row.get("passed") is not False for row in self.rows)


@dataclass(frozen=True)
class Campaign:
    """Cells, and what is made of their results.

    Args:
        command: Name of the command.
        cells: The cells by name, in the order in which they start.
        measure: Cell -> result, as JSON values; a function of a module.
        rows: Results -> lines of the table.
        columns: Columns of the table.
        record: Result of the campaign -> content of result.json.
        settings: Settings in force, as JSON values, with ``dataset`` and ``seed``.
        people: Digest of the population.
        trains: Whether a cell uses torch.
    """

    command: str
    cells: Mapping[str, Any]
    measure: Callable[[Any], Any]
    rows: Callable[[Mapping[str, Any]], Sequence[Row]]
    columns: Sequence[str]
    record: Callable[[CampaignResult], dict[str, Any]]
    settings: Mapping[str, Any]
    people: str
    trains: bool = True

    @property
    def digest(self) -> str:
        """Hash of settings, people and version: finished cells of others do not count as these."""
        return config_hash({**self.settings, "people": self.people, "ldpsim": ldpsim_version()})

    def run(self, out: Path | None = None, *, workers: int | None = 1, progress: Progress = quiet) -> CampaignResult:
        """Run, or go on with a stopped campaign, and write table and result below ``out``; None keeps nothing.

        Raises:
            ValueError: one line, for a folder that cannot be written.
        """
        started = time.perf_counter()
        names = {"method": self.command, "dataset": str(self.settings["dataset"]), "digest": self.digest}
        held = nullcontext() if out is None else hold_folder(out, **names, seed=self.settings["seed"])
        with held as folder:
            results, failures = run_cells(self.cells, self.measure, workers=workers, folder=folder, trains=self.trains,
                                          progress=progress)  # fmt: skip
            seconds = time.perf_counter() - started
            result = CampaignResult(self.rows(results), self.settings, failures, seconds, results, folder)
            if folder is not None:
                write_table(folder / "table.csv", data_frame(list(result.rows)).reindex(columns=list(self.columns)))
                if not failures:
                    write_result(folder, self.record(result))
        return result


def run_cells(
    cells: Mapping[str, Any], measure: Callable[[Any], Any], *, workers: int | None, folder: Path | None = None,
    trains: bool = True, progress: Progress = quiet,
) -> tuple[dict[str, Any], list[tuple[str, Failed]]]:  # fmt: skip
    """Return the results of cells by name, and the failures.

    Args:
        cells: The cells by name.
        measure: Cell -> result; a function of a module. In a folder results are kept as JSON.
        workers: Number of cells at a time; None for one per core. One at a time is measured in this process.
        folder: Folder in which results are kept, and found; the caller holds its lock. None keeps nothing.
        trains: Whether the cells use torch.
        progress: Function that is told the share of the cells that is done.
    """
    paths = {} if folder is None else {name: folder / "cells" / f"{name.replace(' ', '_')}.json" for name in cells}
    results, failures = dict[str, Any](), list[tuple[str, Failed]]()
    for name, path in paths.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError, ValueError):  # a file that cannot be read counts as none
            results[name] = json.loads(path.read_text())
    waiting = [name for name in cells if name not in results]

    def note() -> str:
        done = f"{len(results)} of {len(cells)} cells are finished and kept in {folder}"
        return NOTHING_KEPT if folder is None else f"{done}; the same command goes on"

    progress("cells", len(results) / len(cells))
    prepare = one_torch_thread if trains else None
    with noted_if_interrupted(note), processes(workers, tasks=len(waiting), here=True, prepare=prepare) as pool:
        for number, outcome in outcomes_of(pool, measure, enumerate(cells[name] for name in waiting)):
            name = waiting[number]
            if isinstance(outcome, Failed):
                failures.append((name, outcome))
            else:
                results[name] = outcome
                if folder is not None:
                    write_atomically(paths[name], json.dumps(outcome) + "\n")
            progress("cells", (len(results) + len(failures)) / len(cells))
    return {name: results[name] for name in cells if name in results}, failures
