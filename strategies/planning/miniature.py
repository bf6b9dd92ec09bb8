"""Miniature of a population: fewer people, and a budget that keeps the noise of all.

Randomised response adds about n p false neighbours to a row, p = 1 / (e^eps + 1). Among fewer people the same
epsilon would add fewer, and the links would look better than they are. So the miniature's epsilon of a bit is lowered
until false ones and true ones keep their ratio:

    a row counts by itself                s p' = n p              as many false ones a row
    both ends report a pair               s p'^1.5 = n p^1.5      between that and as many false pairs (s p'^2 = n p^2)

Reports whose noise does not depend on n (features, labels, a vote, a degree) keep their epsilon.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from ldpsim.devices.data.population import Population
from ldpsim.devices.mechanisms import Mechanism
from ldpsim.strategies.estimate.asked import questions_on_paper
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.setup.feature_share import CHOSEN
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.read_options import read_alone
from ldpsim.strategies.setup.run_setup import RunSetup

PEOPLE = 600
PEOPLE_A_CLASS = 40
LARGER, STEPS = 4, 2  # times as many people in the next larger miniature, and how many larger ones there are
# Most flipped bits of a row. With so many false neighbours to a true one the links are worth nothing, and more of
# them would only cost time.
MOST_FLIPPED, MOST_AGREEING = 0.1, 0.25


def sizes_of(facts: GraphFacts, people: int | None = None, there: int | None = None) -> tuple[int, ...]:
    """Return the falling numbers of people on whom a plan may be rehearsed: all, and miniatures of less than half.

    Args:
        facts: The people of the plan.
        people: Wanted number; then it is the only one. It is raised where classes and degrees need more people.
        there: Number of people who are there; None: as many as are wanted.

    >>> [sizes_of(GraphFacts(n)) for n in (500, 900, 5000, 50_000)]
    [(500,), (900,), (5000, 2400, 600), (50000, 9600, 2400, 600)]
    """
    whole = facts.n if there is None else min(facts.n, there)
    least = min(whole, max(people or PEOPLE, PEOPLE_A_CLASS * facts.classes, math.ceil(4 * facts.mean_degree)))
    if people is not None:
        return (least,)
    smaller = (least * LARGER**step for step in range(STEPS, -1, -1))
    return (whole, *(size for size in smaller if 2 * size <= whole))


def save(population: Population, path: Path) -> None:
    """Write a population as a ``.npz`` that a run reads."""
    np.savez(
        path, edge_index=population.edges, labels=population.labels, indptr=population.feature_indptr,
        indices=population.feature_indices, num_features=population.facts.d, num_classes=population.facts.classes,
    )  # fmt: skip


def of_a_bit(setup: RunSetup) -> Mechanism | None:
    """Return the mechanism whose noise grows with the number of people: one that perturbs each bit of a row."""
    asked = questions_on_paper(setup.method, setup.population.facts, setup.budget)
    found = (m for question in asked for stage in question.query.plan for ask in stage for m in ask.mechanisms)
    return next((m for m in found if m.field in ("adjacency", "noisy_rows") and not m.in_clear), None)


def bit_epsilon(mechanism: Mechanism) -> float:
    """Return the loss of one bit of a row."""
    return mechanism.loss().bit


def kept_noise(epsilon: float, n: int, size: int, *, agreeing: bool) -> float:
    """Return the epsilon of a bit with which ``size`` people have the noise of ``n``.

    >>> round(kept_noise(8.0, 50_000, 1000, agreeing=False), 2), round(kept_noise(8.0, 50_000, 1000, agreeing=True), 2)
    (4.07, 5.39)
    """
    flip = 1 / (math.exp(min(epsilon, 700.0)) + 1) * (n / size) ** (2 / 3 if agreeing else 1.0)
    flip = min(flip, MOST_AGREEING if agreeing else MOST_FLIPPED)
    return math.log((1 - flip) / flip)


def with_kept_noise(options: RunOptions, setup: RunSetup, n: int, size: int) -> RunOptions:
    """Return the options of a miniature of ``n`` people: its rows have their noise, all else has its budget.

    Args:
        options: Options of a run of all people.
        setup: Its set-up on paper.
        n: Number of all people.
        size: Number of people of the miniature.
    """
    budget = setup.budget
    mechanism = of_a_bit(setup)
    if mechanism is None or size >= n:
        return options
    agreeing = setup.method.spec.joins_both_ends and mechanism.reporting == "both"
    wanted = kept_noise(bit_epsilon(mechanism), n, size, agreeing=agreeing)
    one = of_a_bit(replace(setup, budget=replace(budget, eps_adjacency=1.0)))
    assert one is not None
    chosen = setup.settings.provenance.get("feature_share") == CHOSEN
    share = budget.feature_share if chosen else options.feature_share
    made = replace(options, eps_adjacency=wanted / bit_epsilon(one), feature_share=share)
    return read_alone(made)[0]  # without epsilon where no part of it is left
