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
from typing import Any

from ldpsim.curator.methods import find
from ldpsim.curator.privacy.levels import level_named, level_word
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.strategies.experiments.match import match
from ldpsim.strategies.experiments.sweep import SweepResult, run_sweep
from ldpsim.strategies.experiments.sweep_file import Cell
from ldpsim.strategies.progress import Progress, quiet
from ldpsim.strategies.results import folder as run_folder
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
        level: One of :func:`ldpsim.curator.privacy.levels.level_words`, as stored.
        target: The loss.
        unmatched: Method -> reason why it cannot have this loss.
    """

    level: str
    target: float
    unmatched: Mapping[str, str]


@dataclass(frozen=True, repr=False)  # it prints as a sweep does
class Comparison(SweepResult):
    """Result of a comparison: that of a sweep over the methods, in their order.

    Args:
        match: Loss that was to be made equal, None without ``--match``.
    """

    match: Match | None = field(default=None)


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
        matching = level_named(matching[0]), matching[1]
        progress("matching", 0.0)
        cells, made = _matched(cells, *matching)
    people = run_folder.name_of_data(options.dataset)
    swept = run_sweep(
        cells, options.out / f"compare-{people}-{config_hash(shown_options(options, matching))}", engine=engine,
        workers=workers, ray_address=ray_address, progress=progress, track=track,
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
        run = replace(options, method=name, engine="local", workers=None, ray_address=None, out=None, all_nulls=True)
        own, reasons[name] = read_alone(run)
        cells.append(Cell(own, name))
    check_any_reads(options, reasons)
    return cells


def _matched(cells: Sequence[Cell], level: str, target: float) -> tuple[list[Cell], Match]:
    given = f"--match {level_word(level)} {target:g}"
    if not 0 < target < float("inf"):
        raise ValueError(f"{given}: the loss must be a finite number above 0")
    if any(cell.options.epsilon is not None for cell in cells):
        raise ValueError(f"{given} with --epsilon: give one of them; --match solves for the epsilon of each method")
    population = load_population(cells[0].options)
    made, unmatched = [], dict[str, str]()
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
    return made, Match(level, target, unmatched)


def shown_options(options: RunOptions, matching: tuple[str, float] | None = None) -> dict[str, Any]:
    """Return everything that one comparison shows and another does not; the name of its folder has the hash of it.

    The reference and the null models change no result, and so no ``config_hash``; they stand in the table.
    """
    config = hashed_options(options, lambda spec: spec.hashed != "never" or spec.panel == MODEL)
    return {**config, "method": None, "match": matching}
