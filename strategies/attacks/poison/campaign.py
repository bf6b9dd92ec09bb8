"""Lying devices against each method, each lie and share on devices of its own, beside silent devices and nobody."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from strategies.attacks.campaign import AttackRow, Campaign, CampaignResult
from strategies.attacks.liars.accounts import number_of
from strategies.attacks.poison.cell import run_poison_cell, set_up_cell
from strategies.attacks.poison.figure import draw
from strategies.attacks.poison.options import PoisonCell, PoisonOptions, budgets, cells_for, fitting
from strategies.attacks.poison.rows import breakdown, poison_rows
from strategies.estimate.expected import tell_expected
from strategies.estimate.graph_facts import measured
from strategies.experiments.match_budgets import guarantee_before
from strategies.outputs.sums import AskedInAll, added, levels_of
from strategies.results import folder as run_folder
from strategies.setup.fingerprint import configuration
from strategies.setup.run_setup import load_population

SCHEMA = 1


class PoisonCampaign(Campaign[PoisonCell]):
    """Campaign of ``ldpsim poison``.

    Args:
        asked: The options.

    Raises:
        ValueError: one line, where options do not fit a method, or no attack does.
    """

    command = "poison"
    columns = (
        "method", "epsilon", "attack", "lie", "goal", "knowledge", "share", "defence", "repeats", "liars",
        "honest_test", "accuracy", "std", "vs_clean", "vs_silent", "vs_silent_std", "vs_undefended", "goal_value",
        "goal_clean", "fakes_accepted", "true_lost", "found", "false_alarms", "law", "measured", "theory", "bound",
        "passed", "accounts", "per_point", "one_hop_lost", "one_hop_per_point", "one_hop_goal",
    )  # fmt: skip
    exact = frozenset({"epsilon", "share"})
    measure = run_poison_cell

    def __init__(self, asked: PoisonOptions) -> None:
        people = load_population(asked.run)
        self.facts = measured(people)
        super().__init__(all_cells(asked), settings_in_force(asked), people=people.digest, workers=asked.workers)

    def tell_cost(self, waiting: Sequence[PoisonCell]) -> None:
        """As :meth:`Campaign.tell_cost`: a cell takes what a run of one repeat does."""
        tell_expected([replace(cell.options, repeats=1) for cell in waiting], self.facts)

    def rows(self, results: Mapping[str, Any]) -> Sequence[AttackRow]:
        """Return a row for each kind of cell that has a result."""
        return poison_rows(self.cells, results)

    def sums(self) -> list[AskedInAll]:
        """Return what holds over all cells together: each asks the same people, with noise that no seed tells."""
        if self.cells[0].options.seeds_of(0).noise is not None:
            return []
        setups = {(cell.options.method, cell.options.epsilon): set_up_cell(cell) for cell in self.cells}
        before = {key: levels_of({"privacy": guarantee_before(setup).to_dict()}) for key, setup in setups.items()}
        holds = added([before[cell.options.method, cell.options.epsilon] for cell in self.cells])
        return [AskedInAll(next(iter(setups.values())).population.name, len(self.cells), holds)]

    def record(self, result: CampaignResult) -> dict[str, Any]:
        """Return the content of result.json."""
        return {"poison": {
            "schema": SCHEMA, "rows": list(result.rows), "breakdown": breakdown(result.rows), "passed": result.passed,
            "settings": dict(result.settings), "seconds": result.seconds,
            "failed": {name: failed.line for name, failed in result.failures},
        }}  # fmt: skip

    def draw(self, result: CampaignResult, path: Path) -> None:
        """Draw accuracies by the share of liars."""
        draw(result.rows, path, about=str(result.settings["dataset"]))


def all_cells(asked: PoisonOptions) -> list[PoisonCell]:
    """Return all cells; ValueError where options do not fit a method, or no attack does."""
    found: list[PoisonCell] = []
    for method in asked.methods:
        for options in budgets(asked, method):
            probe = PoisonCell(options, 0, "none", "", "untargeted", 0.0, "none", asked)
            setup = set_up_cell(probe)
            classes = setup.population.facts.classes
            for amount in asked.inject:
                number_of(amount, len(setup.population))
            if asked.target_class >= max(classes, 1):
                raise ValueError(f"--target-class {asked.target_class}: the classes are 0 to {classes - 1}")
            found += cells_for(asked, options, fitting(setup, setup.repeats[0].split, joins=bool(asked.inject)))
    # the first repeat of everything comes first, so that a table of all methods is there early
    return sorted(found, key=lambda cell: cell.number)


def settings_in_force(asked: PoisonOptions) -> dict[str, Any]:
    """Return the settings in force, as JSON values."""
    given = {name: value for name, value in asdict(asked).items() if name not in ("run", "runs", "workers")}
    if not asked.inject:
        del given["inject"]  # folders of before keep their names
    run = {name: value for name, value in configuration(asked.run).items()
           if name not in ("method", "out", "data_dir", "engine", "workers", "ray_address", "state")}  # fmt: skip
    return dict(run_folder.plain(json.loads(json.dumps({**run, **given}, default=str))))
