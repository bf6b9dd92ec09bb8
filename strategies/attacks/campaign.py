"""Campaign: a set of attacks, each measured in a cell of its own, and one table of all their rows.

    options -> Campaign -> cells -> results -> rows -> table.csv, result.json

``ldpsim stress`` and ``ldpsim poison`` are campaigns. The folder is ``<out>/<command>-<dataset>-<hash>-<seed>/``. Each
finished cell is kept in it, so that the same command goes on with a campaign that was stopped. A campaign in which a
cell failed has no result.json, and is continued in the same way.
"""

from __future__ import annotations

import csv
import io
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ldpsim.devices.atomic_files import write_atomically
from ldpsim.strategies.engines.pool import one_torch_thread, processes
from ldpsim.strategies.experiments.sweep import Failed, Failures, outcomes_of
from ldpsim.strategies.foreign_text import csv_cell
from ldpsim.strategies.progress import NOTHING_KEPT, Progress, noted_if_interrupted, quiet
from ldpsim.strategies.results import folder as run_folder
from ldpsim.strategies.setup.fingerprint import config_hash, ldpsim_version

AttackRow = Mapping[str, Any]  # a line of the table; "passed" is whether it agrees with theory, if it has one


def run_cells(
    cells: Sequence[Any], measure: Callable[[Any], Any], *, workers: int | None, trains: bool = True
) -> Iterator[tuple[Any, Any]]:
    """Yield (cell, result) as cells end, with :class:`~ldpsim.strategies.experiments.sweep.Failed` for no result.

    Args:
        cells: What is measured.
        measure: Cell -> result; a function of a module.
        workers: Number of cells at a time; None for one per core. One at a time is measured in this process.
        trains: Whether the cells use torch.
    """
    prepare = one_torch_thread if trains else None
    with processes(workers, tasks=len(cells), here=True, prepare=prepare) as pool:
        for number, outcome in outcomes_of(pool, measure, enumerate(cells)):
            yield cells[number], outcome


@dataclass(frozen=True)
class CampaignResult:
    """Result of a campaign.

    Args:
        rows: Lines of the table.
        settings: Settings in force.
        failures: (cell, reason) of the cells that failed.
        seconds: Duration.
        found: Number of cells that had a result before.
        results: Result of each cell, by its name.
    """

    rows: Sequence[AttackRow]
    settings: Mapping[str, Any]
    failures: Failures = ()
    seconds: float = 0.0
    found: int = 0
    results: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def passed(self) -> bool:
        """Whether every row that has a theory agrees with it."""
        return all(row.get("passed") is not False for row in self.rows)


class Campaign(ABC):
    """Base of the campaigns.

    Args:
        cells: The cells, in the order in which they start; each has a ``name`` of its own.
        settings: Settings in force, as JSON values, with ``dataset`` and ``seed``.
        people: Digest of the population.
        workers: Number of cells at a time; None for one per core.
    """

    command: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]  # of the table
    exact: ClassVar[frozenset[str]] = frozenset()  # columns of numbers that are options: they are not rounded
    trains: ClassVar[bool] = True  # whether a cell uses torch
    measure: ClassVar[Callable[..., Any]]  # cell -> result, as JSON values; a function of a module

    def __init__(self, cells: Sequence[Any], settings: Mapping[str, Any], *, people: str, workers: int | None) -> None:
        self.cells, self.settings, self.people, self.workers = cells, settings, people, workers

    @abstractmethod
    def rows(self, results: Mapping[str, Any]) -> Sequence[AttackRow]:
        """Return the rows of the cells that have a result."""

    @abstractmethod
    def record(self, result: CampaignResult) -> dict[str, Any]:
        """Return the content of result.json."""

    def run(self, folder: Path | None = None, *, progress: Progress = quiet) -> CampaignResult:
        """Measure the cells that have no result, and return the rows of all.

        Args:
            folder: Folder in which results are kept; the caller holds its lock. None keeps nothing.
            progress: Function that is told the phase and the share of it that is done.
        """
        started = time.perf_counter()
        results = {} if folder is None else self._stored(folder)
        stored, failures = len(results), list[tuple[str, Failed]]()
        waiting = [cell for cell in self.cells if cell.name not in results]

        def note() -> str:
            done = f"{len(results)} of {len(self.cells)} cells are finished and kept in {folder}"
            return NOTHING_KEPT if folder is None else f"{done}; the same command goes on"

        with noted_if_interrupted(note):
            progress("cells", stored / len(self.cells))
            for cell, outcome in run_cells(waiting, type(self).measure, workers=self.workers, trains=self.trains):
                if isinstance(outcome, Failed):
                    failures.append((cell.name, outcome))
                else:
                    results[cell.name] = outcome
                    if folder is not None:
                        write_atomically(_file(folder, cell), json.dumps(outcome) + "\n")
                progress("cells", (len(results) + len(failures)) / len(self.cells))
        seconds = time.perf_counter() - started
        return CampaignResult(self.rows(results), self.settings, failures, seconds, stored, results)

    def _stored(self, folder: Path) -> dict[str, Any]:
        """Return the results that are kept in a folder; a file that cannot be read counts as none."""
        (folder / "cells").mkdir(parents=True, exist_ok=True)
        results = {}
        for cell in self.cells:
            with suppress(OSError, ValueError):
                results[cell.name] = json.loads(_file(folder, cell).read_text())
        return results

    @property
    def digest(self) -> str:
        """Hash of settings, people and version: finished cells of others do not count as these."""
        return config_hash({**self.settings, "people": self.people, "ldpsim": ldpsim_version()})

    def run_and_write(self, out: Path, *, progress: Progress = quiet) -> tuple[CampaignResult, Path]:
        """Run, or go on with a stopped campaign, write table and result, and return the result and its folder.

        Raises:
            ValueError: one line, for a folder that cannot be written.
        """
        names = {"method": self.command, "dataset": str(self.settings["dataset"]), "digest": self.digest}
        with run_folder.hold_folder(out, **names, seed=self.settings["seed"]) as folder:
            result = self.run(folder, progress=progress)
            write_atomically(folder / "table.csv", self.table_csv(result.rows))
            if not result.failures:
                run_folder.write_result(folder, self.record(result))
        return result, folder

    @classmethod
    def table_csv(cls, rows: Sequence[AttackRow]) -> str:
        """Return the rows as CSV, figures with six decimals."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(cls.columns)
        for row in rows:
            writer.writerow(f"{row[name]:.6f}" if isinstance(row[name], float) and name not in cls.exact
                            else csv_cell(row[name]) for name in cls.columns)  # fmt: skip
        return text.getvalue()


def _file(folder: Path, cell: Any) -> Path:
    return folder / "cells" / f"{cell.name.replace(' ', '_')}.json"
