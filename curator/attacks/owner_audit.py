"""Audit of what an owner of a graph releases, without the accountant.

Labels. PrivGnn: the label is arg max of a posterior and Laplace noise. Removing a person may turn one certain posterior
into another; the chances A (the certain class) and B (another) are integrated here, and what a few queries on fresh
samples lose is summed over every outcome. PATE: a moved vote changes two counts by one each; each has its own Laplace
noise, so that no event may gain more than e^(2 lambda). The trials draw labels by the code that releases them, for the
two worst posteriors.

Noisy sums over neighbours. Every graph of four people is made, and every edge of it is taken away: that is the canary.
The sums of the method's own code say how far an edge, or a person's record, moves a hop at most, and the Gaussian curve
says what that loses. The trials draw noisy sums by the code that releases them, with and without the canary, and read
the projection on the move.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.sparse import csr_array
from scipy.stats import laplace

from ldpsim.curator.attacks.bounds import lower_bound
from ldpsim.curator.attacks.distributions import OutputDistribution, epsilon_at
from ldpsim.curator.attacks.mechanism_audit import AuditRow, Effort, within
from ldpsim.curator.methods.owner.owner import LabelAnswers, OwnerMethod
from ldpsim.curator.owner.aggregation.sums import HandedLists, noisy_sums
from ldpsim.curator.owner.privacy.graph_account import EDGE, GraphRelease
from ldpsim.curator.owner.teachers.release import noisy_labels
from ldpsim.devices.array_types import DoubleArray
from ldpsim.devices.mechanisms import gaussian

CLASSES, QUERIES, LAMBDA, DELTA, OWNED = 3, 5, 1.0, 1e-3, 100  # the small setting of labels; people of the owner
PEOPLE, EPSILON = 4, 2.0  # the small setting of sums
_TRAINING, _EPOCHS = 40, 1  # everybody is in every step: all of it is one Gaussian mechanism
_QUADRATURE = 1e-6
_PAIRS = list(itertools.combinations(range(PEOPLE), 2))


def audit_owner(method: OwnerMethod, effort: Effort) -> list[AuditRow]:
    """Audit an owner's method at a small setting; the baselines claim nothing."""
    if method.spec.trained_by == "graph owner":
        return _audit_sums(method, effort)
    if isinstance(method, LabelAnswers):
        return _audit_labels(method, effort)
    reason = "sees raw data and adds no noise: nothing is claimed"
    return [effort.nothing_claimed(method.spec.name, "central_node", reason)]


def _audit_labels(method: LabelAnswers, effort: Effort) -> list[AuditRow]:
    account = replace(method, queries=QUERIES, lambda_=LAMBDA, delta=DELTA).account(OWNED, CLASSES)
    truth, other = label_chances(CLASSES, LAMBDA)
    exact = moved_vote(LAMBDA) if account.votes else math.log(truth / other)
    sides = [
        noisy_labels(np.tile(side, (effort.trials, 1)), LAMBDA, noise_seed=effort.seed + number).tolist()
        for number, side in enumerate(np.eye(CLASSES)[:2] + (2.0 if account.votes else 0.0))
    ]
    how = "two counts, each moved by one, 10,000 votes behind" if account.votes else "quadrature"
    label = _row(method, "one label", account.query_label, exact, lower_bound(*sides, error=effort.error), effort, how)
    if account.votes:
        return [label]  # how many votes stand behind a count is not bounded: there is no worst outcome to sum over
    composed = composed_loss(truth, other, account.release.gamma, QUERIES, DELTA)
    claimed = account.central_node().value
    assert claimed is not None
    how = f"{QUERIES} queries, delta {DELTA:g}, summed over every outcome"
    return [label, _row(method, "central_node", claimed, composed, None, effort, how)]


def _row(
    method: Any, level: str, claimed: float, exact: float, bound: float | None, effort: Effort, how: str
) -> AuditRow:
    passed = within(claimed + _QUADRATURE, exact, None) and within(claimed, None, bound)
    trials = 0 if bound is None else effort.trials
    return AuditRow(method.spec.name, level, claimed, exact, bound, effort.confidence, trials, passed, how)


def label_chances(classes: int, lambda_: float) -> tuple[float, float]:
    """(A, B): Pr[label 1] where the posterior is e_1, and where it is e_2, by quadrature."""
    noise, far = laplace(scale=1 / lambda_), 60 / lambda_

    def integral(f: Any) -> float:
        return float(sum(quad(f, a, b, epsabs=1e-13, limit=400)[0] for a, b in ((-far, 0), (0, 1), (1, far))))

    truth = integral(lambda x: noise.pdf(x - 1) * noise.cdf(x) ** (classes - 1))
    other = integral(lambda x: noise.pdf(x) * noise.cdf(x - 1) * noise.cdf(x) ** (classes - 2))
    return truth, other


def moved_vote(lambda_: float, behind: float = 1e4) -> float:
    """Loss of the label of two classes where a class ``behind`` by so many votes loses one to the other.

    The difference of two Laplace noises exceeds x >= 0 with chance e^(-l x) (2 + l x) / 4;
    the loss grows with x towards 2 lambda.
    """
    return 2 * lambda_ + math.log((2 + lambda_ * behind) / (2 + lambda_ * (behind + 2)))


def composed_loss(truth: float, other: float, gamma: float, queries: int, delta: float) -> float:
    """Epsilon at ``delta`` of labels on fresh Poisson samples: one person in or out, every outcome summed.

    With the person, a query is (1 - gamma) Q + gamma P; without, Q: P tells label 1 with chance ``truth``, Q label 2,
    every other label has chance ``other``. All other labels are equally likely either way: one outcome.
    """
    rest = max(0.0, 1 - truth - other)
    joined = ((1 - gamma) * other + gamma * truth, (1 - gamma) * truth + gamma * other, rest)
    outcomes = list(itertools.product(range(3), repeat=queries))
    inside, outside = (
        OutputDistribution({outcome: Fraction(math.prod(chances[label] for label in outcome)) for outcome in outcomes})
        for chances in (joined, (other, truth, rest))
    )
    return max(epsilon_at(inside, outside, delta), epsilon_at(outside, inside, delta))


def _audit_sums(method: Any, effort: Effort) -> list[AuditRow]:
    """Audit hops and private steps, of both levels; a person's own prediction claims nothing."""
    small = replace(method, hops=2, delta=DELTA, noise_multiplier=0.0, keep="last")
    rows = []
    for level in ({"level": "edge"}, {"level": "node", "degree": 2}):
        released = replace(small, **level).release(
            people=_TRAINING, training=_TRAINING, epochs=_EPOCHS, epsilon=EPSILON
        )
        rows.append(_row_of_sums(method, "relationship", released, released.relationship, effort, steps=0))
        if released.level != EDGE:
            rows.append(_row_of_sums(method, "central_node", released, released.joins, effort,
                                     steps=released.training.steps))  # fmt: skip
    reason = "reads the own row without noise: nothing is claimed"
    return [*rows, effort.nothing_claimed(method.spec.name, "own prediction", reason)]


def _row_of_sums(
    method: Any, level: str, released: GraphRelease, claimed: float | None, effort: Effort, *, steps: int
) -> AuditRow:
    assert claimed is not None
    delta = released.training.delta
    norm, move, rows = largest_move(released, level)
    shift = math.sqrt(released.training.hops * (norm / released.deviation) ** 2 + steps / released.multiplier**2)
    exact = gaussian.epsilon_of(delta, shift=shift, sigma=1.0)
    sides = [_projections(side, rows, move, released, effort, number) for number, side in enumerate((move, 0 * move))]
    bound = lower_bound(*sides, error=effort.error, delta=delta)
    words = f"{released.level} level, every graph of {PEOPLE}, delta {delta:g}"
    return AuditRow(method.spec.name, level, claimed, exact, bound, effort.confidence, effort.trials,
                    within(claimed, exact, bound), words)  # fmt: skip


@cache
def _arcs(released: GraphRelease, lists: tuple[tuple[int, int], ...]) -> DoubleArray:
    """float64 (people, people): who sends to whom, of (holder, name) entries, by the code of the release."""
    senders, names = np.array(lists, np.int64).reshape(-1, 2).T
    data = HandedLists(csr_array((PEOPLE, 1), dtype=np.float32), np.zeros(PEOPLE, np.int64), senders, names)
    return np.asarray(data.arcs(0, None if released.level == EDGE else released.degree).toarray(), np.float64)


def _moves(released: GraphRelease, level: str) -> Iterator[DoubleArray]:
    """Yield the change of the sums' matrix, for every graph, without each of its edges, or without each record."""
    for graph in itertools.chain.from_iterable(itertools.combinations(_PAIRS, k) for k in range(1, len(_PAIRS) + 1)):
        lists = tuple(entry for pair in graph for entry in (pair, pair[::-1]))
        whole = _arcs(released, lists)
        if level == "relationship":
            for canary in graph:
                yield whole - _arcs(released, tuple(e for e in lists if e not in (canary, canary[::-1])))
            continue
        for person in range(PEOPLE):
            moved = whole - _arcs(released, tuple(entry for entry in lists if entry[0] != person))
            moved[person] = 0.0  # the own row is nobody else's to read
            yield moved


def largest_move(released: GraphRelease, level: str) -> tuple[float, DoubleArray, DoubleArray]:
    """Return the largest change in the L2 norm over rows of norm 1, the change, and the rows, float64 (people,)."""
    signs = [np.array(each, np.float64) for each in itertools.product((1.0, -1.0), repeat=PEOPLE)]
    every = ((move, rows) for move in _moves(released, level) for rows in signs)
    move, rows = max(every, key=lambda each: float(np.linalg.norm(each[0] @ each[1])))
    return float(np.linalg.norm(move @ rows)), move, rows


def _projections(
    side: DoubleArray, rows: DoubleArray, move: DoubleArray, released: GraphRelease, effort: Effort, number: int
) -> list[int]:
    """Return the projection of noisy sums on the move, in steps of half a deviation."""
    direction = move @ rows / max(1e-12, float(np.linalg.norm(move @ rows)))
    draws = np.random.default_rng([effort.seed, number, *released.level.encode()])
    many = np.repeat(rows[:, None], effort.trials, axis=1).astype(np.float32)
    sums = direction @ noisy_sums(csr_array(side.astype(np.float32)), many, released.deviation, draws)
    return [int(each) for each in np.floor(2 * sums / released.deviation)]
