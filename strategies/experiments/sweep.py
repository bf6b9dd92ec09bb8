"""A sweep: many runs in one folder, several at a time, in processes or on Ray, and a table of all.

    cells -> config hashes -> folder -> cells without a result run -> rows -> table.csv, summary.csv

Sweeps, comparisons and the papers' tables run here. Each cell has a folder of its own inside the common one, whose name
ends with its ``config_hash``. A sweep that was stopped, killed or extended runs only the cells without a result. An
interrupted cell continues in its folder; devices that answered before repeat their stored bytes. If the folder has runs
and none of them is a cell of this sweep, the first numbered folder beside it is taken: ``sweep-grid-2``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpsim.devices import datasets
from ldpsim.devices.atomic_files import exclusive_lock
from ldpsim.strategies.engines.collect import choose
from ldpsim.strategies.engines.pool import Pool, on_ray, processes
from ldpsim.strategies.engines.usage import forget_peak
from ldpsim.strategies.estimate.fits import check_fits
from ldpsim.strategies.experiments.cells import Failed, Failures, failure, measure_all
from ldpsim.strategies.experiments.sweep_file import Cell
from ldpsim.strategies.outputs.groups import Group, groups_of, table_of
from ldpsim.strategies.outputs.html_table import html_table
from ldpsim.strategies.outputs.sums import AskedInAll, in_all
from ldpsim.strategies.progress import Progress, quiet
from ldpsim.strategies.results import folder as run_folder
from ldpsim.strategies.results.folder import read_result
from ldpsim.strategies.results.numbers import count
from ldpsim.strategies.results.rows import Row, data_frame, failed_row, row_of, write_table
from ldpsim.strategies.setup.options import FACTS, RunOptions, check_ray_address
from ldpsim.strategies.tracking.targets import check_targets

if TYPE_CHECKING:
    from pandas import DataFrame

ENGINES = ("auto", "local", "ray")
TABLE, SUMMARY = "table.csv", "summary.csv"
_PRINTED = 8  # groups


@dataclass(frozen=True)
class SweepResult:
    """Result of a sweep.

    Args:
        rows: One flat row per cell, in canonical order.
        folder: The sweep's folder, with the cells' folders, ``table.csv`` and ``summary.csv``.
        found: Number of cells that had a result before.
        records: Results of the cells that have one, in the order of the rows.
        failures: (label, reason) of the cells that failed.
    """

    rows: Sequence[Row]
    folder: Path
    found: int
    records: Sequence[Mapping[str, Any]] = field(repr=False)
    failures: Failures = field(default=())

    @property
    def folders(self) -> list[str]:
        """Names of the folders of the results."""
        return [row["folder"] for row in self.rows if row["status"] == "done"]

    @property
    def table(self) -> Path:
        """The table, one row a cell."""
        return self.folder / TABLE

    @property
    def summary(self) -> Path:
        """The table of the groups."""
        return self.folder / SUMMARY

    @property
    def groups(self) -> list[Group]:
        """The means over the seeds: one for all cells that differ in their seeds alone."""
        return groups_of(self.records)

    @property
    def sums(self) -> list[AskedInAll]:
        """Sums of what holds over all collections of people who were really asked more than once."""
        return list(in_all(self.records).values())

    def to_frame(self) -> DataFrame:
        """Return the table as a pandas DataFrame, one row a cell."""
        return data_frame(self.rows)

    def __repr__(self) -> str:
        lines = [f"{count(len(self.records), 'result')} in {self.folder}"]
        for first, *cells in (each.items() for each in table_of(self.groups[:_PRINTED])):
            lines.append(f"{first[1]}: " + "; ".join(f"{name} {text}" for name, text in cells))
        more = len(self.groups) - _PRINTED
        lines += [f"and {more} more: to_frame()"] if more > 0 else []
        lines += [f"{name} failed: {failed.line}" for name, failed in self.failures]
        return "\n".join([*lines, *(total.text for total in self.sums)])

    def _repr_html_(self) -> str:
        cells = table_of(self.groups)
        rows = [*(tuple(each.values()) for each in cells), *((name, failed.line) for name, failed in self.failures)]
        rows += [("all collections", total.text) for total in self.sums]
        return html_table(
            f"{count(len(self.records), 'result')} in {self.folder.name}", rows, list(cells[0]) if cells else []
        )


def run_sweep(
    cells: Sequence[Cell],
    folder: Path,
    *,
    engine: str = "auto",
    workers: int | None = None,
    ray_address: str | None = None,
    progress: Progress = quiet,
    track: Sequence[str] = (),
) -> SweepResult:
    """Run the cells that have no result in ``folder`` and write the table of all.

    Args:
        cells: In canonical order (:func:`ldpsim.strategies.experiments.sweep_file.read_sweep`).
        folder: The sweep's folder; created if it is missing. If it belongs to other cells, it is left as it is, and
            the first numbered one beside it is taken.
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
    with on_ray(workers, ray_address) if over_ray else processes(workers) as pool:
        digests = _digests(cells, pool, progress)
        folder = _folder_of({digest for digest in digests if isinstance(digest, str)}, folder)
        with _held(folder):
            done, known = _earlier(cells, digests, folder)
            outcomes = measure_all(
                {place: replace(cell, options=replace(cell.options, out=folder.absolute()), track=track)
                 for place, cell in enumerate(cells)},
                run_cell, pool, done=done, progress=progress, folder=folder,
            )  # fmt: skip
            rows, records, failures = list[Row](), list[Mapping[str, Any]](), list[tuple[str, Failed]]()
            for place, outcome in outcomes.items():
                if isinstance(outcome, Failed):
                    failures.append((cells[place].label, outcome))
                    rows.append(failed_row(place + 1, cells[place].options, digests[place], outcome.line))
                else:
                    records.append(known.get(outcome) or read_result(folder / outcome / "result.json"))
                    rows.append(row_of(records[-1], outcome, place + 1))
            earlier = sum(isinstance(outcome, str) for outcome in done.values())
            result = SweepResult(rows, folder, earlier, records, failures)
            write_table(result.table, result.to_frame())
            write_table(result.summary, data_frame([dict(group.row) for group in result.groups]))
    return result


def _folder_of(digests: set[str], folder: Path) -> Path:
    """Return the folder, or the first numbered one beside it, that is new, or has a run of one of the cells."""
    for place in itertools.chain(
        [folder], (folder.with_name(f"{folder.name}-{number}") for number in itertools.count(2))
    ):
        runs = [path.parent.name for path in place.glob("*/config.toml")]
        if not runs or any(run_folder.is_name_of(run, digest) for run in runs for digest in digests):
            return place
    raise AssertionError


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder; ValueError if it cannot be written, or if another process works in it."""
    run_folder.prepare(folder)
    try:
        with exclusive_lock(folder, wait=False):
            yield
    except BlockingIOError:
        raise ValueError(f"{folder}: another sweep or comparison is using this folder") from None


def check_cells(several: Sequence[RunOptions]) -> list[str | Failed]:
    """Return the config hashes of cells that share their people (a worker's task)."""
    from ldpsim.strategies.runs.prepare import prepare
    from ldpsim.strategies.setup.run_setup import load_population

    population, outcomes = None, list[str | Failed]()
    for options in several:
        try:
            population = population or load_population(options)
            outcomes.append(prepare(options, population=population).digest)
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


def results_in(folder: Path) -> dict[str, list[tuple[str, Mapping[str, Any]]]]:
    """Return (folder name, record) of the results below a folder, by config hash.

    A folder with another name than a run gives is a copy, or somebody's own: it is left out.
    """
    results: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for path in sorted(folder.glob("*/result.json")):
        # An unreadable result is ignored: the cell runs again, in another folder.
        with suppress(OSError, ValueError, KeyError, TypeError):
            record = read_result(path)
            if run_folder.is_name_of(path.parent.name, record["config_hash"]):
                results.setdefault(record["config_hash"], []).append((path.parent.name, record))
    return results


def _digests(cells: Sequence[Cell], pool: Pool, progress: Progress) -> list[str | Failed]:
    """Return every cell's config hash, with the people of cells that share them loaded once; nothing is written.

    Raises:
        ValueError: where two cells have one hash, or no cell can be run.
    """
    together: dict[tuple[Any, ...], list[int]] = {}
    for place, cell in enumerate(cells):
        options = cell.options
        drawn = options.dataset in datasets.GENERATED or options.clients is not None
        facts = tuple(getattr(options, name) for name in FACTS)
        seed = options.seeds_of(0).population if drawn else None
        people = options.dataset, options.data_dir, options.clients, facts, seed
        together.setdefault(people, []).append(place)
    groups = {people: [cells[place].options for place in places] for people, places in together.items()}
    digests: dict[int, str | Failed] = {}
    for people, outcome in measure_all(groups, check_cells, pool, phase="checking", progress=progress).items():
        places = together[people]
        digests |= zip(places, [outcome] * len(places) if isinstance(outcome, Failed) else outcome, strict=True)
    first: dict[str, Cell] = {}
    for place, cell in enumerate(cells):
        digest = digests[place]
        if isinstance(digest, str) and first.setdefault(digest, cell) is not cell:
            raise ValueError(f"the same cell is listed twice: {first[digest].label} and {cell.label}")
    if not first:
        reason = digests[0]
        assert isinstance(reason, Failed)
        raise ValueError(f"no cell can run ({cells[0].label}: {reason.line})")
    return [digests[place] for place in range(len(cells))]


def _earlier(
    cells: Sequence[Cell], digests: Sequence[str | Failed], folder: Path
) -> tuple[dict[int, str | Failed], dict[str, Mapping[str, Any]]]:
    """Return the outcomes before anything runs, and the records of the results among them by folder.

    An outcome is the folder of a result, or the reason why a cell cannot run. A result without the reference or the
    null models does not count for a cell that asks for them.
    """
    earlier, records = dict[int, str | Failed](), dict[str, Mapping[str, Any]]()
    results = results_in(folder)
    for place, (cell, digest) in enumerate(zip(cells, digests, strict=True)):
        if isinstance(digest, Failed):
            earlier[place] = digest
            continue
        wanted = [name for name in ("reference", "nulls") if getattr(cell.options, name)]
        for name, record in results.get(digest, ()):
            if all(record["config"].get(part) for part in wanted) and place not in earlier:
                earlier[place], records[name] = name, record
    return earlier, records
