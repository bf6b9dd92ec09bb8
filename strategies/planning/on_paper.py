"""Guarantee of a run on paper, for any number of people and without one of them.

A run is set up for a few hundred made-up people. The losses of a report do not depend on the number of people, or
grow by the same amount with each further person: of a bit that each one reports about everybody, or that everybody
reports about one person. So what holds for n people follows exactly from what holds at two small sizes. What an
owner or a server releases depends on numbers of people alone, and these are given in full.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from curator.methods import find
from curator.methods.federated.fedavg import Federated
from curator.methods.owner.owner import LabelAnswers, OwnerMethod
from curator.privacy.guarantee import Guarantee, Level, private_part
from devices.data.population import Population
from devices.facts import IntArray, Split
from devices.mechanisms import round_up
from strategies.estimate.asked import PRIVATE, few_people
from strategies.estimate.graph_facts import GraphFacts
from strategies.estimate.traffic import miniature
from strategies.experiments.match_budgets import Accounts, Matched, guarantee_before, guarantee_of_reports, match_by
from strategies.people.private_and_public import Division
from strategies.runs.set_up import run_of, set_up
from strategies.setup.feature_share import CHOSEN, divided
from strategies.setup.options import RunOptions
from strategies.setup.run_setup import RunSetup, budget_of
from strategies.setup.settings import TRAINING, resolve

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True, eq=False)
class OnPaper:
    """People who are not there: their facts, and two small made-up graphs.

    Args:
        facts: The people.
    """

    facts: GraphFacts
    sizes: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        few = few_people(self.facts.public())
        object.__setattr__(self, "sizes", (few, min(2 * few, self.facts.n)))

    @cached_property
    def people(self) -> tuple[Population, Population]:
        """The two small graphs."""
        first, second = (miniature(self.facts, size, seed=0) for size in self.sizes)
        return first, second

    def set_up(self, options: RunOptions) -> RunSetup:
        """Return the set-up of a run on the smaller graph, with the feature share that everybody would have.

        Raises:
            ValueError: one line, for options that do not fit.
        """
        return self._set_up(options, 0)

    def _set_up(self, options: RunOptions, which: int) -> RunSetup:
        given = replace(
            options, dataset="generated", clients=None, split="random", state=None, from_reports=None, out=None,
            save_reports=False, collector_key=None, device="cpu", engine="local",
        )  # fmt: skip
        kind, few = find(options.method), len(self.people[which]) // 4
        method = kind.from_settings({key: value for key, value in given.settings.items() if key not in TRAINING})
        if isinstance(method, LabelAnswers) and method.queries > few:
            # The small graph has fewer public people than the whole one: the number of queries is put back.
            asked = set_up(
                replace(given, settings={**given.settings, "queries": str(few)}), population=self.people[which]
            )
            return replace(asked, options=given, settings=replace(asked.settings, method=method))
        setup = set_up(given, population=self.people[which])
        if setup.settings.provenance.get("feature_share") != CHOSEN:
            return setup
        plain = budget_of(options, public_features=setup.budget.public_features)
        labels = round(len(setup.repeats[0].split.train) / self.sizes[which] * self.facts.n)
        settings = resolve(options, type(setup.method), plain)
        budget, settings = divided(options, settings, plain, self.facts.public(), labels)
        return replace(setup, budget=budget, settings=settings)

    def guarantee(self, setup: RunSetup) -> Guarantee:
        """Return what holds for everybody, of a set-up of :meth:`set_up`."""
        return self._guarantee(setup, guarantee_before)

    def _of_reports(self, setup: RunSetup) -> Guarantee:
        return self._guarantee(setup, guarantee_of_reports)

    def match(self, options: RunOptions, level: str, target: float) -> Matched:
        """Solve for the budget at which the loss that holds at a level is ``target``; as :func:`match`."""
        found = match_by(Accounts(self.set_up, self.guarantee, self._of_reports), options, level, target)
        if not found.reason.startswith("unprotected"):
            return found
        private = match_by(Accounts(self.set_up, self._private_part, self._of_reports), options, level, target)
        return found if private.reason else private

    def _private_part(self, setup: RunSetup) -> Guarantee:
        """Return the guarantee with the private part of a record in place of a record of which a part is public."""
        whole = self.guarantee(setup)
        parts = {name: private_part(entry.detail) for name, entry in whole.holds.items()}
        bounded = {name: Level("bounded", part[1]) for name, part in parts.items() if part is not None}
        return replace(whole, holds={**whole.holds, **bounded})

    def _guarantee(self, setup: RunSetup, make: Callable[[RunSetup], Guarantee]) -> Guarantee:
        n = self.facts.n
        if isinstance(setup.method, (OwnerMethod, Federated)):
            return make(self._in_full(setup))
        small = make(setup)
        if self.sizes[0] == n:
            return small
        people = self.people[1]
        repeat = replace(setup.repeats[0], split=_split_of(setup, people))
        large = make(replace(setup, population=people, repeats=(repeat,)))
        ahead = (n - self.sizes[0]) / (self.sizes[1] - self.sizes[0])
        holds = {name: _at(small.holds[name], large.holds[name], ahead) for name in small.holds}
        return replace(small, holds=holds)

    def _in_full(self, setup: RunSetup) -> RunSetup:
        """Return the set-up with the full numbers of people, for accounts that read numbers alone."""
        n, split = self.facts.n, setup.repeats[0].split
        people = replace(setup.population, facts=replace(setup.population.facts, n=n))
        full: Split
        if isinstance(split, Division):
            public = round((1 - PRIVATE) / 2 * n)
            full = Division(_many(public), _many(0), _many(public), _many(n - 2 * public), split.rule)
        else:
            share = n / len(setup.population)
            full = Split(*(_many(round(share * len(part))) for part in (split.train, split.val, split.test)))
        return replace(setup, population=people, repeats=(replace(setup.repeats[0], split=full),))


def _many(count: int) -> IntArray:
    """Return an array of this length that takes no memory; its values mean nothing."""
    return np.broadcast_to(np.int64(0), (count,))


def _split_of(setup: RunSetup, people: Population) -> Split:
    return run_of(setup.method).divide(setup.options, people, setup.repeats[0].seeds)


def _at(small: Level, large: Level, ahead: float) -> Level:
    """Return the level on the line through two sizes; the numbers in its detail lie on lines of their own."""

    def on_line(first: float, second: float) -> float:
        return first if first == second else first + (second - first) * ahead

    value = small.value
    if small.value is not None and large.value is not None:
        value = round_up(on_line(small.value, large.value))
    texts, numbers = _NUMBER.split(small.detail), _NUMBER.findall(small.detail)
    others = _NUMBER.findall(large.detail)
    detail = small.detail
    if numbers != others and len(numbers) == len(others):
        shown = [f"{on_line(float(a), float(b)):.10g}" for a, b in zip(numbers, others, strict=True)]
        detail = "".join(text + number for text, number in zip(texts, [*shown, ""], strict=True))
    return Level(small.status, value, small.delta if math.isclose(small.delta, large.delta) else
                 on_line(small.delta, large.delta), detail)  # fmt: skip
