"""Measurement of ``ldpsim poison``: cells in a pool of processes, each kept as it ends, then the rows."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from devices.atomic_files import write_atomically
from strategies.attacks.poison.cell import run_poison_cell, set_up_cell
from strategies.attacks.poison.options import PoisonCell, PoisonOptions, budgets, cells_for, fitting
from strategies.attacks.poison.rows import breakdown, poison_rows
from strategies.engines.pool import processes
from strategies.experiments.failures import Failed, Failures, failure, outcomes_of
from strategies.progress import Progress, noted_if_interrupted, quiet
from strategies.results import folder as run_folder
from strategies.setup.fingerprint import config_hash, configuration, ldpsim_version
from strategies.setup.run_setup import load_population

SCHEMA = 1


@dataclass(frozen=True)
class PoisonResult:
    """Result of a measurement.

    Args:
        rows: One for each method, budget, attack, lie, share and defence.
        settings: Settings in force.
        failures: (cell, reason) of the cells that failed.
        seconds: Duration.
        found: Number of cells that had a result before.
    """

    rows: Sequence[dict[str, Any]]
    settings: Mapping[str, Any]
    failures: Failures
    seconds: float
    found: int = 0

    @property
    def passed(self) -> bool:
        """Whether every row that has a law agrees with it."""
        return all(row["passed"] is not False for row in self.rows)

    def record(self) -> dict[str, Any]:
        """Return the content of result.json."""
        return {"poison": {"schema": SCHEMA, "rows": list(self.rows), "breakdown": breakdown(self.rows),
                           "passed": self.passed, "settings": dict(self.settings), "seconds": self.seconds,
                           "failed": {name: failed.line for name, failed in self.failures}}}  # fmt: skip


def poison(asked: PoisonOptions, folder: Path, *, progress: Progress = quiet) -> PoisonResult:
    """Run the cells that have no result in ``folder``, and return the rows.

    Args:
        asked: The measurement.
        folder: Folder whose lock the caller holds; finished cells are kept in it.
        progress: Told the phase and the share of it that is done.

    Raises:
        ValueError: one line, before anything runs: options that do not fit, or no cell that can be run.
    """
    started = time.perf_counter()
    progress("population", None)
    cells = all_cells(asked)
    kept = folder / "cells"
    kept.mkdir(parents=True, exist_ok=True)
    results: dict[str, Mapping[str, Any]] = {}
    for cell in cells:
        with suppress(OSError, ValueError):
            results[cell.name] = json.loads((kept / f"{cell.name}.json").read_text())
    earlier, failures = len(results), list[tuple[str, Failed]]()
    waiting = [cell for cell in cells if cell.name not in results]
    with noted_if_interrupted(
        lambda: f"{len(results)} of {len(cells)} cells are finished and kept in {folder}; the same command goes on"
    ):
        progress("cells", earlier / len(cells))
        for cell, outcome in _run(waiting, asked.workers):
            if isinstance(outcome, Failed):
                failures.append((cell.name, outcome))
            else:
                results[cell.name] = outcome
                write_atomically(kept / f"{cell.name}.json", json.dumps(outcome) + "\n")
            progress("cells", (len(results) + len(failures)) / len(cells))
    return PoisonResult(
        poison_rows(cells, results), settings_in_force(asked), failures, time.perf_counter() - started, earlier
    )


def _run(cells: Sequence[PoisonCell], workers: int | None) -> Any:
    """Yield (cell, result or reason) as cells end; with one worker in this process."""
    if workers == 1 or len(cells) < 2:
        for cell in cells:
            try:
                yield cell, run_poison_cell(cell)
            except Exception as error:
                yield cell, failure(error)
        return
    with processes(workers) as pool:
        for number, outcome in outcomes_of(pool, run_poison_cell, enumerate(cells)):
            yield cells[number], outcome


def all_cells(asked: PoisonOptions) -> list[PoisonCell]:
    """Return all cells; ValueError where options do not fit a method, or no attack does."""
    found: list[PoisonCell] = []
    for method in asked.methods:
        for options in budgets(asked, method):
            probe = PoisonCell(options, 0, "none", "", "untargeted", 0.0, "none", asked)
            setup = set_up_cell(probe)
            classes = setup.population.facts.classes
            if asked.target_class >= max(classes, 1):
                raise ValueError(f"--target-class {asked.target_class}: the classes are 0 to {classes - 1}")
            found += cells_for(asked, options, fitting(setup, setup.repeats[0].split))
    # the first repeat of everything comes first, so that a table of all methods is there early
    return sorted(found, key=lambda cell: cell.number)


def settings_in_force(asked: PoisonOptions) -> dict[str, Any]:
    """Return the settings in force, as JSON values."""
    given = {name: value for name, value in asdict(asked).items() if name not in ("run", "runs", "workers")}
    run = {name: value for name, value in configuration(asked.run).items()
           if name not in ("method", "out", "data_dir", "engine", "workers", "ray_address", "state")}  # fmt: skip
    return dict(run_folder.plain(json.loads(json.dumps({**run, **given}, default=str))))


def digest_of(asked: PoisonOptions) -> str:
    """Return a hash over all settings, the version and the people: finished cells of others do not count as these."""
    people = load_population(asked.run).digest
    return config_hash({**settings_in_force(asked), "people": people, "ldpsim": ldpsim_version()})
