"""Cells of ``--inject``: the honest people of a plain run, and the accounts that join them."""

from __future__ import annotations

import numpy as np

from curator.methods import find
from devices.data.population import Population
from devices.facts import Split
from strategies.attacks.liars.accounts import Joining, claims_of, number_of, with_accounts, with_labels_of
from strategies.attacks.liars.attacks import EVERY
from strategies.attacks.liars.plan import choose_targets
from strategies.attacks.poison.options import PoisonCell, mechanisms_of
from strategies.attacks.poison.theory import WITH_A_CLASS, OneHopVote, accepted, naming
from strategies.runs.run import Run
from strategies.runs.set_up import run_of
from strategies.setup.options import Seeds
from strategies.setup.run_setup import RunSetup


class Joined:
    """People of a cell: the honest ones, whose division is that of a plain run, and the accounts after them.

    Args:
        cell: The cell; its share is above 0.
        people: The honest people.
    """

    def __init__(self, cell: PoisonCell, people: Population) -> None:
        self._cell, self._people = cell, people
        self._seeds = seeds = cell.options.seeds_of(cell.number)
        honest = self._honest_split(run_of(find(cell.options.method)()), seeds)
        goal = cell.goal if cell.attack in EVERY else "untargeted"
        self.joining = Joining(
            people, number_of(cell.share, len(people)), goal,
            choose_targets(honest.test, honest.test[:0], cell.asked.targets, seeds.population),
            cell.asked.target_class, seeds.split, find(cell.options.method).public_graph,
        )  # fmt: skip
        self._lies = cell.attack in EVERY
        claims = claims_of(cell.attack, self.joining) if self._lies else None
        self.population = with_accounts(self.joining, claims)

    def divide(self, run: Run, seeds: Seeds) -> Split:
        """Return the honest people's own division, with accounts that lie among those who give a label."""
        honest = self._honest_split(run, seeds)
        return with_labels_of(honest, self.joining) if self._lies else honest

    def one_hop(self, setup: RunSetup) -> dict[str, float | None]:
        """Return what the attack costs a one-hop vote, as a yardstick; empty where theory says nothing.

        Args:
            setup: The set-up of the cell.

        Returns:
            ``lost``: accuracy that the vote loses; ``per_point``: number of accounts for one point of it; ``goal``:
            share of the chosen people (of all honest ones, by the goal) who get the accounts' class.
        """
        name, public = self._cell.attack, self.joining.public_graph
        split = setup.repeats[self._cell.number].split
        rows = [each for each in mechanisms_of(setup, split) if each.field == "adjacency" and each.flip_probability]
        if name not in WITH_A_CLASS or not (public or rows):
            return {}
        flip = 0.0 if public else rows[0].flip_probability or 0.0
        one_end = not public and rows[0].reporting == "one-end"
        chance = 1.0 if public else accepted(flip, self._cell.lie, one_end=one_end)
        honest = self._honest_split(run_of(setup.method), self._seeds)
        named, label = naming(name, self.joining), self.joining.target_class
        vote = OneHopVote.among(self._people, honest.labelled, honest.test, label)
        chosen = self.joining.targets if self.joining.goal == "misclassify" else np.arange(len(self._people))
        asked = OneHopVote.among(self._people, honest.labelled, chosen, label)
        return {
            "lost": vote.accuracy(np.zeros_like(named), chance) - vote.accuracy(named, chance),
            "per_point": vote.accounts_for_a_point(name, self.joining, chance),
            "goal": asked.won(named, chance) if self.joining.goal in ("misclassify", "inflate") else None,
        }

    def _honest_split(self, run: Run, seeds: Seeds) -> Split:
        return run.divide(self._cell.options, self._people, seeds)
