"""Guarantee of a run on paper, for any number of people and without one of them.

A run is set up for a few hundred made-up people. The losses of a report do not depend on the number of people, or
grow by the same amount with each further person who reports about a list: of a bit that each one reports about
everybody, or that everybody reports about one person. So what holds for n people follows exactly from what holds at two
small sizes, and from the numbers of these reports. What an owner, a server or a secure sum releases depends on numbers
of people alone, and these are given in full.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ldpsim.curator.methods import Method, find
from ldpsim.curator.methods.base import LocalMethod
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.curator.privacy.level import Level
from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import IntArray, Split
from ldpsim.devices.mechanisms import round_up
from ldpsim.devices.query import ATTRIBUTES
from ldpsim.strategies.estimate.asked import few_people, split_sizes
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.estimate.traffic import miniature
from ldpsim.strategies.experiments.match import Accounts, Matched, match_by
from ldpsim.strategies.people.division import PUBLIC, Division
from ldpsim.strategies.runs.prepare import divide_people, prepare
from ldpsim.strategies.runs.spent import guarantee_before
from ldpsim.strategies.setup.feature_share import CHOSEN, divided
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import Setup, parameters_of
from ldpsim.strategies.setup.settings import TRAINING

# Options of the small graphs, in place of those of the run.
_ON_PAPER: dict[str, Any] = {
    "dataset": "generated", "clients": None, "repeats": 1, "split": "random", "state": None, "from_reports": None,
    "out": None, "save_reports": False, "collector_key": None, "device": "cpu", "engine": "local",
}  # fmt: skip


MOST_CLASSES, MOST_FEATURES, MOST_WORDS = 1_000, 100_000, 5_000  # of small graphs that take seconds to make


@dataclass(frozen=True, eq=False)
class OnPaper:
    """People who are not there: their facts, and two small made-up graphs.

    Args:
        facts: The people.

    Raises:
        ValueError: one line, for more classes or features than small graphs are made with, or more classes than people.
    """

    facts: GraphFacts
    sizes: tuple[int, int] = field(init=False)

    def __post_init__(self) -> None:
        facts = self.facts
        for what, value, most in (
            ("classes", facts.classes, MOST_CLASSES),
            ("features", facts.features, MOST_FEATURES),
            ("features of a person that are not 0", facts.words, MOST_WORDS),
        ):
            if value > most:
                raise ValueError(f"{round(value):,} {what}: a plan takes up to {most:,}")
        if facts.n < facts.classes:
            raise ValueError(f"{facts.n} people of {facts.classes} classes: a plan needs as many people as classes")
        few = few_people(facts.public())
        object.__setattr__(self, "sizes", (few, min(2 * few, self.facts.n)))

    @cached_property
    def people(self) -> tuple[Population, Population]:
        """The two small graphs."""
        first, second = (miniature(self.facts, size, seed=0) for size in self.sizes)
        return first, second

    def prepare(self, options: RunOptions) -> Setup:
        """Return the set-up of a run on the smaller graph, with the feature share that everybody would have.

        Raises:
            ValueError: one line, for options that do not fit.
        """
        small, people = replace(options, **_ON_PAPER), self.people[0]
        own = {key: value for key, value in small.settings.items() if key not in TRAINING}
        method = find(options.method).from_settings(own)
        if fewer := fewer_queries(method, len(people) // 4):
            # The small graph has fewer public people than the whole one: the number of queries is put back.
            base = prepare(replace(small, settings={**small.settings, **fewer}), population=people)
            return replace(base, options=small, settings=replace(base.settings, method=method))
        setup = prepare(small, population=people)
        if setup.settings.provenance.get("feature_share") != CHOSEN:
            return setup
        labels = round(len(setup.plans[0].split.train) / len(people) * self.facts.n)
        settings, budget = divided(options, *parameters_of(options), self.facts.public(), labels)
        return replace(setup, budget=budget, settings=settings)

    def match(self, options: RunOptions, level: str, target: float) -> Matched:
        """Solve for the budget at which the loss that holds at a level is ``target``; as :func:`match`.

        Of a record with a public part it is the loss of the private rest. The options keep their own people and
        repeats: those of the small graphs stay on paper.
        """
        match = match_by(Accounts(self.prepare, self.guarantee, frozenset(ATTRIBUTES)), options, level, target)
        own = {name: getattr(options, name) for name in _ON_PAPER}
        return replace(match, options=replace(match.options, **own))

    def guarantee(self, setup: Setup) -> Guarantee:
        """Return what holds for everybody, of a set-up of :meth:`prepare`."""
        n = self.facts.n
        spec = setup.method.spec
        if spec.trained_by != "curator" or spec.trusted == "sum":
            return guarantee_before(self._in_full(setup))
        small = guarantee_before(setup)
        if self.sizes[0] == n:
            return small
        people = self.people[1]
        split = divide_people(setup.method, setup.options, people, setup.plans[0].seeds)
        plan = replace(setup.plans[0], split=split)
        larger = replace(setup, people=people, plans=(plan,))
        large = guarantee_before(larger)
        if self.sizes[1] == n:
            return large
        first, second, last = map(_list_reporters, (setup, larger, self._in_full(setup)))
        ahead = (last - first) / (second - first)
        holds = {name: _at(small.holds[name], large.holds[name], ahead) for name in small.holds}
        return replace(small, holds=holds)

    def _in_full(self, setup: Setup) -> Setup:
        """Return the set-up with the full numbers of people, for accounts that read numbers alone."""
        n, split, options = self.facts.n, setup.plans[0].split, setup.options
        people = replace(setup.population, facts=replace(setup.population.facts, n=n))
        full: Split
        if isinstance(split, Division):
            public = round(PUBLIC * n)
            full = Division(_many(public), _many(0), _many(public), _many(n - 2 * public), split.rule)
        else:
            *parts, ordinary = map(_many, split_sizes(n, options.label_rate, options.volunteers))
            full = Split(*parts, ordinary=ordinary)
        return replace(setup, people=people, plans=(replace(setup.plans[0], split=full),))


def fewer_queries(method: Method, public: int) -> dict[str, str]:
    """Return an owner's number of queries where so few public people allow no more; else nothing."""
    return {"queries": str(public)} if getattr(method, "queries", 0) > public else {}


def _list_reporters(setup: Setup) -> int:
    method, facts = setup.method, setup.population.facts
    if not isinstance(method, LocalMethod):  # a reference has no question
        return facts.n
    return method.list_reporters(facts, setup.plans[0].split, setup.budget)


def _many(count: int) -> IntArray:
    """Return an array of this length that takes no memory; its values mean nothing."""
    return np.broadcast_to(np.int64(0), (count,))


def _at(small: Level, large: Level, ahead: float) -> Level:
    """Return the level on the line through two sizes; each of its figures lies on a line of its own."""

    def on_line(first: float | None, second: float | None) -> float | None:
        if first is None or second is None or math.isclose(first, second, rel_tol=1e-12):
            return first
        return first + (second - first) * ahead

    names = ("value", "private_value", "own", "per_list", "delta", "private_delta")
    values = {name: on_line(getattr(small, name), getattr(large, name)) for name in names}
    values |= {name: round_up(value) for name, value in values.items() if value is not None and "delta" not in name}
    figures = {name: on_line(value, large.figures[name]) for name, value in small.figures.items()}
    return replace(small, **values, figures=figures)  # type: ignore[arg-type]
