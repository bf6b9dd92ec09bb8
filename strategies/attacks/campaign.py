"""Cells of ``stress`` and ``poison``: each is measured by itself, and one table has the rows of all.

    options -> cells -> results -> rows -> table.csv, result.json

The folder is ``<out>/<command>-<dataset>-<hash>-<seed>/``. Each finished cell is kept in it, so that the same command
goes on with a campaign that was stopped. A campaign in which a cell failed has no result.json, and is continued in the
same way.
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
from ldpsim.strategies.experiments.cells import Failed, Failures, measure_all
from ldpsim.strategies.progress import Progress, quiet
from ldpsim.strategies.results.folder import hold_folder, write_result
from ldpsim.strategies.results.rows import Row, data_frame, write_table
from ldpsim.strategies.setup.fingerprint import FORMAT, config_hash


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
        measure: Cell -> result, as JSON values; a function of a module. One cell at a time is measured in this process.
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
        """Hash of settings and people: finished cells of others do not count as these."""
        return config_hash({**self.settings, "people": self.people, "format": FORMAT})

    def run(self, out: Path | None = None, *, workers: int | None = 1, progress: Progress = quiet) -> CampaignResult:
        """Run, or go on with a stopped campaign, and write table and result below ``out``; None keeps nothing.

        Raises:
            ValueError: one line, for a folder that cannot be written.
        """
        started = time.perf_counter()
        names = {"method": self.command, "dataset": str(self.settings["dataset"]), "digest": self.digest}
        held = nullcontext() if out is None else hold_folder(out, **names, seed=self.settings["seed"])
        with held as folder:
            files = {name: folder / "cells" / f"{name.replace(' ', '_')}.json" for name in self.cells} if folder else {}
            done = dict[str, Any]()
            for name, file in files.items():
                file.parent.mkdir(exist_ok=True)
                with suppress(OSError, ValueError):  # a file that cannot be read counts as none
                    done[name] = json.loads(file.read_text())

            def keep(name: str, outcome: Any) -> None:
                if folder is not None:
                    write_atomically(files[name], json.dumps(outcome) + "\n")

            prepare = one_torch_thread if self.trains else None
            with processes(workers, tasks=len(self.cells) - len(done), here=True, prepare=prepare) as pool:
                outcomes = measure_all(
                    self.cells, self.measure, pool, done=done, keep=keep, progress=progress, folder=folder
                )
            failures = [(name, outcome) for name, outcome in outcomes.items() if isinstance(outcome, Failed)]
            results = {name: outcome for name, outcome in outcomes.items() if not isinstance(outcome, Failed)}
            seconds = time.perf_counter() - started
            result = CampaignResult(self.rows(results), self.settings, failures, seconds, results, folder)
            if folder is not None:
                write_table(folder / "table.csv", data_frame(list(result.rows)).reindex(columns=list(self.columns)))
                if not failures:
                    write_result(folder, self.record(result))
        return result
