"""One cell: devices are enrolled, some of them lie, the curator trains, and everything is measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import Split
from ldpsim.strategies.attacks.poison.edited_app import LyingGrid
from ldpsim.strategies.attacks.poison.lies import (
    CHOSEN_CLASS,
    NONE,
    SILENT,
    Liars,
    choose_targets,
    draw_liars,
    lying_people,
    with_labels_of,
)
from ldpsim.strategies.engines.collect import Connection, open_connection
from ldpsim.strategies.engines.grids import DirectGrid
from ldpsim.strategies.results.outcome import Outcome
from ldpsim.strategies.runs.asking import ask
from ldpsim.strategies.runs.judging import null_models
from ldpsim.strategies.runs.kind import RunKind, kind_of
from ldpsim.strategies.runs.prepare import divide_people, prepare
from ldpsim.strategies.runs.repeat import Repeat, temporary_repeat
from ldpsim.strategies.setup.option_spec import all_digits
from ldpsim.strategies.setup.options import FACTS, RunOptions, Seeds
from ldpsim.strategies.setup.run_setup import load_population


@dataclass(frozen=True)
class PoisonCell:
    """One training among lying devices.

    Args:
        options: The run, with its epsilon and defence, without a folder.
        number: The repeat, from 0.
        attack: Name of the attack; ``none`` at share 0.
        share: Share of the people who lie; of accounts that join, their number beside that of the people.
        most: The largest share of the measurement: nobody who lies there is scored.
        join: Whether liars are accounts that join.
    """

    options: RunOptions
    number: int
    attack: str
    share: float
    most: float = field(repr=False)
    join: bool = field(repr=False)

    @property
    def name(self) -> str:
        """Name of the cell in its folder: numbers with all digits, so that no two cells share a name."""
        epsilon = NONE if self.options.epsilon is None else all_digits(self.options.epsilon)
        share = all_digits(self.share)
        return "_".join((self.options.method, epsilon, self.attack, share, self.options.defence, str(self.number)))


@lru_cache(maxsize=2)
def load_people(
    dataset: str, data_dir: Path | None, clients: int | None, seed: int, facts: tuple[Any, ...]
) -> Population:
    """Return the people of all cells, generated ones with the values of ``FACTS``; a process loads them once."""
    return load_population(RunOptions(dataset=dataset, data_dir=data_dir, clients=clients, seeds={"population": seed},
                                      **dict(zip(FACTS, facts, strict=True))))  # fmt: skip


def run_poison_cell(cell: PoisonCell) -> dict[str, Any]:
    """Run one cell and return its figures (a worker's task).

    Raises:
        ValueError, Refused, RunFailed: as a run.
    """
    options, seeds = cell.options, cell.options.seeds_of(cell.number)
    people = load_people(options.dataset, options.data_dir, options.clients, options.seeds_of(0).population,
                         tuple(getattr(options, name) for name in FACTS))  # fmt: skip
    setup = prepare(options, population=people)
    test = np.setdiff1d(setup.plans[cell.number].split.test, _drawn(cell, people, cell.most))
    liars = Liars(people, _drawn(cell, people, cell.share), choose_targets(test, seeds.population), seeds.split)
    lying = None
    if cell.share and (cell.join or cell.attack != SILENT):
        claimed = lying_people(liars, cell.attack, public_graph=setup.method.effective_spec().public_graph)

        def divide(seeds: Seeds) -> Split:
            split = divide_people(setup.method, options, people, seeds)
            gives = cell.join and cell.attack != SILENT
            return with_labels_of(split, liars.numbers, seeds.split) if gives else split

        @contextmanager
        def lying(folder: Path, devices: int, asked: int) -> Iterator[Connection]:
            opened = open_connection(folder, devices, asked, engine=options.engine, ray_address=options.ray_address)
            with opened as honest:
                yield replace(honest, grid=LyingGrid(cast(DirectGrid, honest.grid), claimed, liars.numbers))

        setup = prepare(options, population=claimed, divide=divide)
    if cell.attack == SILENT:
        plans = list(setup.plans)
        plans[cell.number] = replace(plans[cell.number], dropouts=frozenset(liars.numbers.tolist()))
        setup = replace(setup, plans=tuple(plans))
    kind = kind_of(setup.method)
    with temporary_repeat(setup, cell.number, connect=lying) as repeat:
        outcome = kind.work(repeat, ask(repeat))
        nulls = _nulls(kind, repeat, outcome, test) if options.nulls else {}
    if outcome.predictions is None:
        raise ValueError(
            f"{setup.method.spec.name} publishes no class of each person, so that nobody's accuracy is known"
        )
    flagged = outcome.extra["defence"]["flagged"] if "defence" in outcome.extra else None
    honest = np.setdiff1d(np.arange(len(people)), liars.numbers)
    return {
        "accuracy": float(np.mean(outcome.predictions[test] == people.labels[test])),
        "chosen": _share(outcome.predictions[liars.targets] == CHOSEN_CLASS),
        "liars": len(liars.numbers),
        "found": None if flagged is None else _share(np.isin(liars.numbers, flagged)),
        "false_alarms": None if flagged is None else _share(np.isin(honest, flagged)),
        "nulls": nulls,
        "reports_sha256": outcome.collected.reports_sha256,
    }


def _drawn(cell: PoisonCell, people: Population, share: float) -> Any:
    return draw_liars(len(people), share, cell.options.seeds_of(cell.number).split, join=cell.join)


def _share(which: Any) -> float | None:
    return float(np.mean(which)) if len(which) else None


def _nulls(kind: RunKind, repeat: Repeat, outcome: Outcome, test: np.ndarray) -> dict[str, float]:
    """Return the accuracy, on these people, of the null models that need no further devices.

    They read the reports of this run.
    """
    labels = repeat.setup.population.labels
    made = {name: predict() for name, predict in null_models(kind, replace(repeat, state=None), outcome)}
    return {name: float(np.mean(guess[test] == labels[test])) for name, guess in made.items() if guess is not None}
