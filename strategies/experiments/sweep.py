"""Run each cell of a sweep once, several at a time, in processes or on Ray.

Each cell has a folder of its own inside the sweep's folder. Its ``config_hash`` identifies it.
A sweep that was stopped, killed or extended runs only the cells without a result. An
interrupted cell continues in its folder; devices that answered before repeat their stored bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpsim.devices import datasets
from ldpsim.strategies.engines.collect import choose
from ldpsim.strategies.engines.pool import Pool, on_ray, processes
from ldpsim.strategies.engines.usage import forget_peak
from ldpsim.strategies.estimate.fits import check_fits
from ldpsim.strategies.experiments.cells_folder import GoesOn, anything, hold_cells
from ldpsim.strategies.experiments.failures import Failed, Failures, failure, outcomes_of
from ldpsim.strategies.experiments.sweep_file import Cell
from ldpsim.strategies.outputs.seed_groups import SeedGroup, seed_groups
from ldpsim.strategies.outputs.sums import AskedInAll, in_all
from ldpsim.strategies.outputs.sweep_summary import write_summary
from ldpsim.strategies.outputs.sweep_table import SweepRow, data_frame, failed_row, row_of, write_tables
from ldpsim.strategies.progress import Progress, noted_if_interrupted, quiet, warn
from ldpsim.strategies.results import folder as run_folder
from ldpsim.strategies.results.folder import read_result
from ldpsim.strategies.setup.options import RunOptions, check_ray_address
from ldpsim.strategies.tracking.targets import check_targets

if TYPE_CHECKING:
    from pandas import DataFrame

_NAMED = 5  # finished cells that the line about an interrupted sweep names
ENGINES = ("auto", "local", "ray")
Results = Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]]


@dataclass(frozen=True)
class SweepResult:
    """Result of a sweep.

    Args:
        rows: One flat row per cell, in canonical order.
        folder: The sweep's folder.
        table, parquet: The written tables; ``parquet`` None where pyarrow is not installed.
        found: Number of cells that had a result before.
        failures: (label, reason) of the cells that failed.
        groups: Means over the seeds: one for all cells that differ in their seeds alone.
        summary: The written table of the groups; None where nothing was written.
        sums: What holds over all collections of people who were really asked more than once.
    """

    rows: Sequence[SweepRow]
    folder: Path
    table: Path
    parquet: Path | None
    found: int
    failures: Failures = field(default=())
    groups: Sequence[SeedGroup] = field(default=())
    summary: Path | None = None
    sums: Sequence[AskedInAll] = field(default=())

    def to_frame(self) -> DataFrame:
        """Return the table as a pandas DataFrame, one row a cell."""
        return data_frame(self.rows)


def run_sweep(
    cells: Sequence[Cell],
    folder: Path,
    *,
    goes_on: GoesOn = anything,
    engine: str = "auto",
    workers: int | None = None,
    ray_address: str | None = None,
    progress: Progress = quiet,
    track: Sequence[str] = (),
) -> SweepResult:
    """Run the cells that have no result in ``folder`` and write the table of all.

    Args:
        cells: In canonical order (:func:`ldpsim.strategies.experiments.sweep_file.read_sweep`).
        folder: The sweep's folder; created if it is missing.
        goes_on: Whether these cells go on with those that a folder was made for. If not, the folder is left as it
            is, and the first numbered one beside it is taken (:mod:`ldpsim.strategies.experiments.cells_folder`).
        engine: ``local`` (processes of this machine) or ``ray``; ``auto`` is ``ray`` if an
            address is given. The collection inside a cell is always local.
        workers: Number of cells at a time; None for one per core.
        ray_address: A Ray cluster; its machines must share the disk of the folder.
        progress: Told the phase and the share of it that is done.
        track: Trackers to which each cell that runs is logged, as a run of its own.

    Raises:
        ValueError: one line, with nothing written: an unknown engine, an address of a Ray cluster that it does not
            use, a tracker that does not answer, a cell that cannot fit into memory, two cells with one config hash, no
            cell that can be run, a folder that cannot be written or is in use.
    """
    if engine not in ENGINES:
        raise ValueError(f"--engine {engine}: must be one of {', '.join(ENGINES)}: cells run in processes or on Ray")
    if workers is not None and workers < 1:
        raise ValueError(f"--workers {workers}: must be 1 or more")
    check_ray_address(engine, ray_address)
    track = check_targets(track)
    for cell in cells:
        check_fits(cell.options)
    over_ray = choose(engine, ray_address) == "ray"
    outcomes: dict[int, str | Failed] = {}
    with (
        noted_if_interrupted(lambda: _kept(cells, outcomes, folder)),
        on_ray(workers, ray_address) if over_ray else processes(workers) as pool,
    ):
        digests = _check(cells, pool, progress)
        by_label = {cell.label: digest if isinstance(digest, str) else None
                    for cell, digest in zip(cells, digests, strict=True)}  # fmt: skip
        with hold_cells(folder, by_label, goes_on) as held:
            folder = held
            outcomes |= _earlier(cells, digests, folder)
            found = sum(isinstance(outcome, str) for outcome in outcomes.values())
            tasks = [
                (place, replace(cell, options=replace(cell.options, out=folder.absolute()), track=track))
                for place, cell in enumerate(cells)
                if place not in outcomes
            ]
            progress("cells", len(outcomes) / len(cells))
            for place, outcome in outcomes_of(pool, run_cell, tasks):
                outcomes[place] = outcome
                progress("cells", len(outcomes) / len(cells))
            records = {place: read_result(folder / outcome / "result.json")
                       for place, outcome in sorted(outcomes.items()) if isinstance(outcome, str)}  # fmt: skip
            rows = [_row(place, cell, digests[place], outcomes[place], records.get(place))
                    for place, cell in enumerate(cells)]  # fmt: skip
            groups = seed_groups(list(records.values()))
            table, parquet = write_tables(folder, rows)
            summary = write_summary(folder, groups)
    failures = [
        (cell.label, outcome) for place, cell in enumerate(cells) if isinstance(outcome := outcomes[place], Failed)
    ]
    sums = list(in_all(records.values()).values())
    return SweepResult(rows, folder, table, parquet, found, failures, groups, summary, sums)


def _kept(cells: Sequence[Cell], outcomes: Mapping[int, str | Failed], folder: Path) -> str:
    """Return the line about an interrupted sweep: the cells that are finished."""
    done = [cells[place].label for place, outcome in sorted(outcomes.items()) if isinstance(outcome, str)]
    shown = ", ".join([*done[:_NAMED], *([f"{len(done) - _NAMED} more"] if len(done) > _NAMED else [])])
    names = f" ({shown})" if done else ""
    return (
        f"{len(done)} of {len(cells)} are finished and kept in {folder}{names}; the same command goes on with the rest"
    )


def check_cells(several: Sequence[RunOptions]) -> list[str | Failed]:
    """Return the config hashes of cells that share their people (a worker's task)."""
    from ldpsim.strategies.runs.set_up import set_up
    from ldpsim.strategies.setup.run_setup import load_population

    population, outcomes = None, list[str | Failed]()
    for options in several:
        try:
            population = population or load_population(options)
            outcomes.append(set_up(options, population=population).digest)
        except Exception as error:
            outcomes.append(failure(error))
    return outcomes


def run_cell(cell: Cell) -> str | Failed:
    """Run one cell and return the name of its folder (a worker's task); ``out`` is the sweep's folder."""
    from ldpsim.strategies.runs.simulate import simulate

    forget_peak()  # earlier cells of this process do not count
    try:
        folder = simulate(cell.options, track=cell.track, keep_graph=False).folder
    except Exception as error:
        return failure(error)
    assert folder is not None
    return folder.name


def _check(cells: Sequence[Cell], pool: Pool, progress: Progress) -> list[str | Failed]:
    """Return every cell's config hash; nothing is written.

    Raises:
        ValueError: where two cells have one hash, or no cell can be run.
    """
    progress("checking", 0.0)
    together: dict[tuple[Any, ...], list[int]] = {}
    for place, cell in enumerate(cells):
        together.setdefault(_people(cell.options), []).append(place)
    groups = list(together.values())
    tasks = [(number, [cells[place].options for place in group]) for number, group in enumerate(groups)]
    found: dict[int, str | Failed] = {}
    for number, several in outcomes_of(pool, check_cells, tasks):
        places = groups[number]
        found.update(zip(places, [several] * len(places) if isinstance(several, Failed) else several, strict=True))
        progress("checking", len(found) / len(cells))
    first: dict[str, Cell] = {}
    for place, cell in enumerate(cells):
        digest = found[place]
        if isinstance(digest, str) and first.setdefault(digest, cell) is not cell:
            raise ValueError(f"the same cell is listed twice: {first[digest].label} and {cell.label}")
    if not first:
        reason = found[0]
        assert isinstance(reason, Failed)
        raise ValueError(f"no cell can run ({cells[0].label}: {reason.line})")
    return [found[place] for place in range(len(cells))]


def _people(options: RunOptions) -> tuple[Any, ...]:
    """Return the options that decide whether two cells have the same people."""
    drawn = options.dataset in datasets.GENERATED or options.clients is not None
    return options.dataset, options.data_dir, options.clients, options.seeds_of(0).population if drawn else None


def results_in(folder: Path) -> Results:
    """Return (folder name, record) of the results below a folder, by config hash.

    A folder with another name than a run gives is a copy, or somebody's own: it is left out, with a warning.
    """
    found: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for path in sorted(folder.glob("*/result.json")):
        # An unreadable result is ignored: the cell runs again, in another folder.
        with suppress(OSError, ValueError, KeyError, TypeError):
            record = read_result(path)
            if run_folder.is_name_of(path.parent.name, record["config_hash"]):
                found.setdefault(record["config_hash"], []).append((path.parent.name, record))
            else:
                warn(f"{path.parent} has not the name of its run: it counts as a copy, and its result is not used")
    return found


def _earlier(cells: Sequence[Cell], digests: Sequence[str | Failed], folder: Path) -> dict[int, str | Failed]:
    """Return the outcomes known before anything runs: the folder of a result, or the reason why a cell cannot run.

    A result without the reference or the null models does not count for a cell that asks for them.
    """
    known: dict[int, str | Failed] = {}
    results = results_in(folder)
    for place, (cell, digest) in enumerate(zip(cells, digests, strict=True)):
        if isinstance(digest, Failed):
            known[place] = digest
            continue
        for name, record in results.get(digest, ()):
            wanted = [name for name in ("reference", "nulls") if getattr(cell.options, name)]
            if all(record["config"].get(name) for name in wanted):
                known.setdefault(place, name)
    return known


def _row(
    place: int, cell: Cell, digest: str | Failed, outcome: str | Failed, record: Mapping[str, Any] | None
) -> SweepRow:
    if isinstance(outcome, Failed):
        return failed_row(place + 1, cell.options, digest if isinstance(digest, str) else None, outcome.line)
    assert record is not None
    return row_of(place + 1, record, outcome)
