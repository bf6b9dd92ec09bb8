"""Miniature of a population: a small made-up graph with its facts, and a budget that keeps its noise.

Randomised response adds about n p false neighbours to a row, p = 1 / (e^eps + 1). In a smaller graph the same epsilon
would add fewer, and the links would look better than they are. So the miniature's epsilon of a bit is lowered until
false ones and true ones keep their ratio:

    a row counts by itself                s p' = n p              as many false ones a row
    both ends report a pair               s p'^1.5 = n p^1.5      between that and as many false pairs (s p'^2 = n p^2)

Reports whose noise does not depend on n (features, labels, a vote, a degree) keep their epsilon.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from devices.data.population import Population
from devices.mechanisms import Mechanism
from strategies.estimate.asked import questions_on_paper
from strategies.estimate.graph_facts import GraphFacts
from strategies.estimate.traffic import miniature
from strategies.setup.feature_share import CHOSEN
from strategies.setup.options import RunOptions
from strategies.setup.read_options import read_alone
from strategies.setup.run_setup import RunSetup

PEOPLE = 600
PEOPLE_A_CLASS = 40
LARGER, MOST = 4, 10_000  # times as many people in larger miniatures, and the most people of the largest ones
NOBODY_ASKED = 20_000  # people on whom null models are tried: they take little time
# Most flipped bits of a row. With so many false neighbours to a true one the links are worth nothing, and more of
# them would only cost time.
MOST_FLIPPED, MOST_AGREEING = 0.1, 0.25


def miniature_size(facts: GraphFacts, people: int = PEOPLE) -> int:
    """Return the number of people of the miniature."""
    return min(facts.n, max(people, PEOPLE_A_CLASS * facts.classes, math.ceil(4 * facts.mean_degree)))


def sizes_of(facts: GraphFacts, people: int = PEOPLE) -> tuple[int, ...]:
    """Return the rising numbers of people of miniatures, up to three; those that would be about the same are left out.

    >>> [sizes_of(GraphFacts(n)) for n in (500, 900, 5000, 50_000)]
    [(500,), (900,), (600, 2400, 5000), (600, 2400, 9600)]
    """
    few = miniature_size(facts, people)
    sizes = [few]
    while sizes[-1] < facts.n and (sizes[-1] * LARGER <= MOST or len(sizes) == 1) and len(sizes) < 3:
        sizes.append(min(facts.n, LARGER * sizes[-1]))
    return tuple(size for size, larger in zip(sizes, [*sizes[1:], math.inf], strict=True) if 2 * size <= larger)


def save(population: Population, path: Path) -> None:
    """Write a population as a ``.npz`` that a run reads."""
    np.savez(
        path, edge_index=population.edges, labels=population.labels, indptr=population.feature_indptr,
        indices=population.feature_indices, num_features=population.facts.d, num_classes=population.facts.classes,
    )  # fmt: skip


def make(facts: GraphFacts, folder: Path, *, people: int, repeats: int) -> list[Path]:
    """Make one graph a repeat, each from a seed of its own, and return their files."""
    paths = [folder / f"people-{people}-{seed}.npz" for seed in range(repeats)]
    for seed, path in enumerate(paths):
        save(miniature(facts, people, seed=seed + 1), path)
    return paths


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


def with_kept_noise(setup: RunSetup, n: int, size: int) -> RunOptions:
    """Return the options of a miniature of ``n`` people: its rows have their noise, all else has its budget."""
    options, budget = setup.options, setup.budget
    mechanism = of_a_bit(setup)
    if mechanism is None or size >= n:
        return options
    agreeing = setup.method.joins_both_ends and mechanism.reporting == "both"
    wanted = kept_noise(bit_epsilon(mechanism), n, size, agreeing=agreeing)
    one = of_a_bit(replace(setup, budget=replace(budget, eps_adjacency=1.0)))
    assert one is not None
    chosen = setup.settings.provenance.get("feature_share") == CHOSEN
    share = budget.feature_share if chosen else options.feature_share
    made = replace(options, eps_adjacency=wanted / bit_epsilon(one), feature_share=share)
    return read_alone(made)[0]  # without epsilon where no part of it is left
