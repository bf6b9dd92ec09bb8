"""Lying devices against each method, each attack and share on devices of its own, beside silent devices and nobody."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ldpsim.curator.defences import ALL, DEFENCES
from ldpsim.curator.methods import find
from ldpsim.curator.names import check_known
from ldpsim.devices.data.population import Population
from ldpsim.strategies.attacks.campaign import Campaign, CampaignResult
from ldpsim.strategies.attacks.poison.cell import PoisonCell, run_poison_cell
from ldpsim.strategies.attacks.poison.lies import ATTACKS, NONE, SILENT
from ldpsim.strategies.experiments.compare import cells_of
from ldpsim.strategies.progress import Progress, quiet
from ldpsim.strategies.results import folder as run_folder
from ldpsim.strategies.results.rows import Row
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.setup.fingerprint import configuration
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.read_options import read_alone
from ldpsim.strategies.setup.run_setup import Setup, load_population

SCHEMA = 3
COLUMNS = (
    "method", "epsilon", "attack", "share", "liars", "defence", "repeats", "accuracy", "std", "vs_silent", "chosen",
    "found", "false_alarms",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PoisonOptions:
    """Options of a measurement.

    Args:
        methods: Names, in the order of display.
        run: Options of every run, as in ``compare``.
        epsilons: Total budgets; empty: the one of ``run``.
        attacks: Names; empty: all that a method's reports allow.
        join: Whether liars are accounts that join, in place of people who are there.
        shares: Shares of all people; share 0 is always run.
        defences: Names, each beside no defence.

    Raises:
        ValueError: one line, for options that do not fit.
    """

    methods: tuple[str, ...]
    run: RunOptions
    epsilons: tuple[float, ...] = ()
    attacks: tuple[str, ...] = ()
    join: bool = False
    shares: tuple[float, ...] = (0.01, 0.05, 0.2)
    defences: tuple[str, ...] = ()
    runs: Mapping[str, RunOptions] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for option, names, allowed in (("attack", self.attacks, ATTACKS), ("defence", self.defences, (ALL, *DEFENCES))):
            for name in names:
                check_known(option, name, allowed)
        for share in self.shares:
            if not 0 <= share < 1:
                raise ValueError(f"--shares {share:g}: a share of all people, 0 or more and below 1")
        if not any(self.shares):
            raise ValueError("--shares 0: at least one share above 0 is needed; share 0 is always run")
        for epsilon in self.epsilons:
            declared(RunOptions)["epsilon"].check(epsilon)
        if self.run.dropout:
            raise ValueError(f"--dropout {self.run.dropout:g}: silent devices are the control of this command")
        if self.run.state is not None or self.run.from_reports is not None:
            raise ValueError("--state and --from-reports: each cell needs devices of its own")
        if self.run.seeds_of(0).noise is None:
            raise ValueError("--noise-seed os: nobody is really asked here, so the noise has a seed")
        if self.join and self.run.volunteers is not None:
            raise ValueError("--join: accounts that join are measured without --volunteers")
        own = cells_of(self.methods, self.run)  # checks the names and --set
        for method in self.methods:
            if find(method).spec.trained_by not in ("curator", "devices"):
                raise ValueError(f"{method}: its records are in the hands of an owner, of silos or of nobody; poison "
                                 "is for devices that report or train in rounds")  # fmt: skip
        # a value that comes twice is measured once: its cells would count as repeats
        object.__setattr__(self, "shares", tuple(sorted({*self.shares} - {0.0})))
        object.__setattr__(self, "epsilons", tuple(dict.fromkeys(self.epsilons)))
        object.__setattr__(self, "defences", tuple(dict.fromkeys(self.defences)))
        object.__setattr__(self, "runs", {cell.label: replace(cell.options, engine=self.run.engine) for cell in own})


def poison(command: PoisonOptions, out: Path | None = None, *, progress: Progress = quiet) -> CampaignResult:
    """Let a share of the devices lie, and measure what it costs the honest ones (``ldpsim poison``).

    Args:
        command: The options.
        out: Folder below which table and result are written, and a stopped campaign is continued; None keeps nothing.
        progress: Function that is told the phase and the share of it that is done.

    Raises:
        ValueError: one line, where options do not fit a method, or no attack does.
    """
    progress("population", None)
    return campaign_of(command).run(out, workers=command.run.workers, progress=progress)


def campaign_of(command: PoisonOptions) -> Campaign:
    """Return the campaign; ValueError where options do not fit a method, or no attack does."""
    people = load_population(command.run)
    for share in command.shares:
        if not round(share * len(people)):
            raise ValueError(f"--shares {share:g}: is nobody of {len(people):,} people")
    cells = [cell for method in command.methods for options in _budgets(command, method)
             for cell in _cells(command, options, people)]  # fmt: skip
    if command.defences and all(cell.options.defence == NONE for cell in cells):
        raise ValueError(f"--defence {', '.join(command.defences)}: {', '.join(command.methods)} takes no reports")
    # the first repeat of everything comes first, so that a table of all methods is there early
    cells.sort(key=lambda cell: cell.number)
    return Campaign(
        "poison", {cell.name: cell for cell in cells}, run_poison_cell, lambda results: rows_of(cells, results),
        COLUMNS, record_of, _settings(command), people.digest,
    )  # fmt: skip


def rows_of(cells: Sequence[PoisonCell], results: Mapping[str, Any]) -> list[Row]:
    """Return a row for each kind of cell that has a result, over its repeats."""
    together: dict[str, list[PoisonCell]] = {}
    for cell in cells:
        if cell.name in results:
            together.setdefault(replace(cell, number=0).name, []).append(cell)
    return [_row(group, results) for group in together.values()]


def record_of(result: CampaignResult) -> dict[str, Any]:
    """Return the content of result.json."""
    return {"poison": {
        "schema": SCHEMA, "rows": list(result.rows), "settings": dict(result.settings), "seconds": result.seconds,
        "failed": {name: failed.line for name, failed in result.failures},
    }}  # fmt: skip


def _budgets(command: PoisonOptions, method: str) -> list[RunOptions]:
    """Return the options of a method at each budget; a method whose answers have no budget runs once."""
    options = replace(command.runs[method], out=None)
    several = [replace(options, epsilon=epsilon) for epsilon in command.epsilons]
    return several if several and "epsilon" not in read_alone(several[0])[1] else [options]


def _cells(command: PoisonOptions, options: RunOptions, people: Population) -> Iterator[PoisonCell]:
    """Yield the cells of a method at one budget; ValueError where it does not take the options, or no attack fits."""
    names = [name for name in ATTACKS if not command.attacks or name in command.attacks]
    if not _reads_lists(prepare(options, population=people)):
        names = [name for name in names if name != "largest-degree"]
    if not names:
        raise ValueError(f"--attack {', '.join(command.attacks)}: {options.method} asks nobody for a list")
    made = (replace(options, defence=name) for name in command.defences)
    defended = [run for run in made if "defence" not in read_alone(run)[1]]
    kinds = [(NONE, 0.0), *product((SILENT, *names), command.shares)]
    for number, (attack, share), run in product(range(options.repeats), kinds, (options, *defended)):
        if attack != SILENT or run is options:
            nulls = run.nulls and run is options and attack == NONE and not number
            yield PoisonCell(replace(run, nulls=nulls), number, attack, share, max(command.shares), command.join)


def _reads_lists(setup: Setup) -> bool:
    questions = setup.plans[0].questions
    mechanisms = (each for question in questions for stage in question.query.plan for ask in stage
                  for each in ask.mechanisms)  # fmt: skip
    return any("adjacency" in mechanism.reads for mechanism in mechanisms)


def _row(cells: Sequence[PoisonCell], results: Mapping[str, Any]) -> dict[str, Any]:
    first, own = cells[0], [results[cell.name] for cell in cells]
    accuracies = [result["accuracy"] for result in own]
    silent = [replace(cell, attack=SILENT, options=replace(cell.options, defence=NONE)).name for cell in cells]
    lost = [result["accuracy"] - results[name]["accuracy"] for result, name in zip(own, silent, strict=True)
            if name in results]  # fmt: skip
    return {
        "method": first.options.method, "epsilon": first.options.epsilon, "attack": first.attack,
        "share": first.share, "liars": own[0]["liars"], "defence": first.options.defence, "repeats": len(own),
        "accuracy": _mean(accuracies), "std": float(np.std(accuracies, ddof=1)) if len(own) > 1 else None,
        "vs_silent": _mean(lost), **{name: _mean(result[name] for result in own)
                                     for name in ("chosen", "found", "false_alarms")}, "nulls": own[0]["nulls"],
    }  # fmt: skip


def _mean(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return float(np.mean(numbers)) if numbers else None


def _settings(command: PoisonOptions) -> dict[str, Any]:
    """Return the settings in force, as JSON values."""
    own = {name: value for name, value in asdict(command).items() if name not in ("run", "runs")}
    run = {name: value for name, value in configuration(command.run).items()
           if name not in ("method", "out", "data_dir", "engine", "workers", "ray_address", "state")}  # fmt: skip
    return dict(run_folder.plain(json.loads(json.dumps({**run, **own}, default=str))))
