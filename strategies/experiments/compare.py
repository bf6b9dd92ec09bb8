"""Comparison of several methods on the same people (``ldpsim compare``).

    methods, options -> one cell a method -> (budgets solved for) -> the runner of cells -> results

Every method gets the same population, splits and seeds in each repeat. The folder is named after all options
but the methods: a comparison that was stopped, or that gets one more method, runs only the methods without a
result. A comparison of other options has a folder of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from ldpsim.curator.methods import find
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.strategies.experiments.match_budgets import match
from ldpsim.strategies.experiments.sweep import SweepResult, run_sweep
from ldpsim.strategies.experiments.sweep_file import Cell
from ldpsim.strategies.outputs.notebook import html_of_comparison
from ldpsim.strategies.progress import Progress, quiet
from ldpsim.strategies.results import folder as run_folder
from ldpsim.strategies.results.levels import level_named
from ldpsim.strategies.setup.fingerprint import config_hash, hashed_options
from ldpsim.strategies.setup.option_spec import MODEL
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.read_options import check_any_reads, read_alone
from ldpsim.strategies.setup.run_setup import load_population

FORMAT = 1


@dataclass(frozen=True)
class Match:
    """Loss that was to be made equal.

    Args:
        level: One of :func:`ldpsim.strategies.results.levels.compared_levels`.
        target: The loss.
        unmatched: Method -> reason why it cannot have this loss.
        of_reports: Those of them that have it for all that is reported: their public features are in clear.
    """

    level: str
    target: float
    unmatched: Mapping[str, str]
    of_reports: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison(SweepResult):
    """Result of a comparison: that of a sweep over the methods, in their order.

    Args:
        match: Loss that was to be made equal, None without ``--match``.
    """

    match: Match | None = field(default=None)

    def _repr_html_(self) -> str:
        return html_of_comparison(self.records, {name: failed.line for name, failed in self.failures}, self.sums)


def compare(
    methods: Sequence[str],
    options: RunOptions,
    *,
    matching: tuple[str, float] | None = None,
    engine: str = "auto",
    workers: int | None = None,
    ray_address: str | None = None,
    progress: Progress = quiet,
    track: Sequence[str] = (),
) -> Comparison:
    """Run methods on the same people and write ``compare.json`` and the table.

    Args:
        methods: Names, in the order of display.
        options: Options of every method. A method that does not read one runs without it.
        matching: (level, loss) that shall hold for every method that can have it.
        engine, workers, ray_address, track: As in :func:`ldpsim.strategies.experiments.sweep.run_sweep`.
        progress: Told the phase and the share of it that is done.

    Raises:
        ValueError: one line, with nothing written: unknown methods, options that no method
            reads, folders that cannot be used, or no method that can run.
    """
    if options.state is not None:
        raise ValueError(f"--state {options.state} with compare: each method needs people of its own")
    if options.out is None:
        raise ValueError("a comparison needs a folder to write to")
    cells, made = cells_of(methods, options), None
    if matching is not None:
        progress("matching", 0.0)
        cells, made = _matched(cells, *matching)
    swept = run_sweep(
        cells, options.out / _name(options, matching), engine=engine, workers=workers, ray_address=ray_address,
        progress=progress, track=track,
    )  # fmt: skip
    document = {
        "format": FORMAT,
        "methods": list(methods),
        "folders": [row.get("folder") for row in swept.rows],
        "failures": {name: failed.line for name, failed in swept.failures},
        "match": None if made is None else asdict(made),
    }
    write_atomically(swept.folder / run_folder.COMPARISON, json.dumps(document, indent=1) + "\n")
    return Comparison(swept.rows, swept.folder, swept.found, swept.records, swept.failures, made)


def cells_of(methods: Sequence[str], options: RunOptions) -> list[Cell]:
    """Return one cell a method: the options that it reads.

    Raises:
        ValueError: one line, for an unknown method, one that is named twice, or an option that none reads.
    """
    if not methods:
        raise ValueError("compare needs at least one METHOD (see `ldpsim methods`)")
    cells, reasons = [], dict[str, Mapping[str, str]]()
    for name in methods:
        find(name)
        if name in reasons:
            raise ValueError(f"{name} is named twice: a comparison has each method once")
        given = replace(options, method=name, engine="local", workers=None, ray_address=None, out=None, all_nulls=True)
        own, reasons[name] = read_alone(given)
        cells.append(Cell(own, name))
    check_any_reads(options, reasons)
    return cells


def _matched(cells: Sequence[Cell], level: str, target: float) -> tuple[list[Cell], Match]:
    level = level_named(level)
    if not 0 < target < float("inf"):
        raise ValueError(f"--match {level} {target:g}: the loss must be a finite number above 0")
    if cells[0].options.epsilon is not None:
        raise ValueError(
            f"--match {level} {target:g} with --epsilon: give one of them; --match solves for the epsilon "
            "of each method"
        )
    population = load_population(cells[0].options)
    made, unmatched, of_reports = [], {}, []
    for cell in cells:
        try:
            solved = match(cell.options, population, level, target)
        except ValueError as error:  # its run fails later with the same line
            unmatched[cell.label] = " ".join(str(error).split())
            made.append(cell)
            continue
        made.append(Cell(solved.options, cell.label))
        if solved.reason:
            unmatched[cell.label] = solved.reason
        if solved.of_reports:
            of_reports.append(cell.label)
    return made, Match(level, target, unmatched, tuple(of_reports))


def _name(options: RunOptions, matching: tuple[str, float] | None = None) -> str:
    """Return the name of the folder, with a hash over everything that one comparison shows and another does not.

    The reference and the null models change no result, and so no ``config_hash``; they stand in the table.
    """
    given = hashed_options(options, lambda spec: spec.hashed != "never" or spec.panel == MODEL)
    # The names of folders that were made earlier had an option ``same_reports``.
    shown = {**given, "method": None, "match": matching, "same_reports": False}
    return f"compare-{run_folder.name_of_data(options.dataset)}-{config_hash(shown)}"
